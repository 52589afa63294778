# Runs the project mounted at /app:  docker run -p 8787:8787 -v "$PWD:/app:ro" -v state:/state pyflare
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
# A mirror of the package index, where there is one.
ARG PIP_INDEX_URL
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY emulator emulator
COPY bindings bindings
RUN python3 -m venv /opt/pyflare \
    && /opt/pyflare/bin/pip install --no-cache-dir --disable-pip-version-check ".[speed,crypto]"
COPY container/start.py /opt/pyflare/start.py
# Empty directories of an image give their owner to the volumes that are mounted over them.
RUN mkdir -p /volumes/app /volumes/state /volumes/packages /volumes/home && chown -R 10001:10001 /volumes

FROM ${PYTHON_IMAGE}
ENV PATH=/opt/pyflare/bin:$PATH HOME=/home/pyflare PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /opt/pyflare /opt/pyflare
COPY --from=build --chown=10001:10001 /volumes/app /app
COPY --from=build --chown=10001:10001 /volumes/state /state
COPY --from=build --chown=10001:10001 /volumes/packages /packages
COPY --from=build --chown=10001:10001 /volumes/home /home/pyflare
# A number, so that a cluster that demands an unprivileged user can see that it is one.
USER 10001:10001
WORKDIR /app
VOLUME ["/state", "/packages"]
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python3", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('PYFLARE_PORT', '8787') + '/cdn-cgi/local/health', timeout=2)"]
ENTRYPOINT ["python3", "/opt/pyflare/start.py"]
