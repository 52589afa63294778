# Runs the project mounted at /app:  docker run -p 8787:8787 -v "$PWD:/app" -v state:/state pyflare
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY bindings bindings
RUN python3 -m venv /opt/pyflare && /opt/pyflare/bin/pip install --no-cache-dir ".[speed,crypto]"

FROM ${PYTHON_IMAGE}
ENV PATH=/opt/pyflare/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/pyflare /opt/pyflare
RUN useradd --create-home --uid 10001 pyflare \
    && mkdir /app /state && chown pyflare /app /state
USER pyflare
WORKDIR /app
VOLUME /state
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s --retries=3 \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8787/cdn-cgi/local/health', timeout=2)"]
CMD ["pyflare", "dev", "--ip", "0.0.0.0", "--port", "8787", "--persist-to", "/state"]
