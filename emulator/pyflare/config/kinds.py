"""The kinds of bindings, in the order in which the start-up table lists them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from .diagnostics import Position

Support = Literal["local", "local/remote", "remote", "always remote"]


class BindingKind(StrEnum):
    """A kind of binding; its value is the key of its block in the configuration."""

    DURABLE_OBJECT = "durable_objects"
    WORKFLOW = "workflows"
    KV = "kv_namespaces"
    SEND_EMAIL = "send_email"
    QUEUE = "queues"
    D1 = "d1_databases"
    HYPERDRIVE = "hyperdrive"
    R2 = "r2_buckets"
    SECRETS_STORE = "secrets_store_secrets"
    SERVICE = "services"
    ANALYTICS_ENGINE = "analytics_engine_datasets"
    BROWSER = "browser"
    IMAGES = "images"
    AI = "ai"
    RATE_LIMIT = "ratelimits"
    STREAM = "stream"
    PIPELINE = "pipelines"
    WORKER_LOADER = "worker_loaders"
    VECTORIZE = "vectorize"
    AI_SEARCH_NAMESPACE = "ai_search_namespaces"
    AI_SEARCH = "ai_search"
    WEB_SEARCH = "websearch"
    AGENT_MEMORY = "agent_memory"
    MEDIA = "media"
    ARTIFACTS = "artifacts"
    FLAGSHIP = "flagship"
    VPC_SERVICE = "vpc_services"
    VPC_NETWORK = "vpc_networks"
    MTLS_CERTIFICATE = "mtls_certificates"
    DISPATCH_NAMESPACE = "dispatch_namespaces"
    HELLO_WORLD = "unsafe_hello_world"
    LOGFWDR = "logfwdr"
    UNSAFE = "unsafe"
    ASSETS = "assets"
    VERSION_METADATA = "version_metadata"
    VAR = "vars"
    SECRET = "secrets"

    @property
    def friendly(self) -> str:
        """The name in messages and in the Resource column, such as `KV Namespace`."""
        return _DESCRIPTIONS[self][0]

    @property
    def support(self) -> Support:
        """What the platform's local tools offer for it."""
        return _DESCRIPTIONS[self][1]

    @property
    def is_emulated(self) -> bool:
        """Whether it works here. A binding of another kind is there, and raises when it is used."""
        return self not in _NOT_EMULATED


_DESCRIPTIONS: dict[str, tuple[str, Support]] = {
    "durable_objects": ("Durable Object", "local"),
    "workflows": ("Workflow", "local"),
    "kv_namespaces": ("KV Namespace", "local/remote"),
    "send_email": ("Send Email", "local/remote"),
    "queues": ("Queue", "local/remote"),
    "d1_databases": ("D1 Database", "local/remote"),
    "hyperdrive": ("Hyperdrive Config", "local"),
    "r2_buckets": ("R2 Bucket", "local/remote"),
    "secrets_store_secrets": ("Secrets Store Secret", "local"),
    "services": ("Worker", "local/remote"),
    "analytics_engine_datasets": ("Analytics Engine Dataset", "local"),
    "browser": ("Browser Run", "local/remote"),
    "images": ("Images", "local/remote"),
    "ai": ("AI", "always remote"),
    "ratelimits": ("Rate Limit", "local"),
    "stream": ("Stream", "local/remote"),
    "pipelines": ("Pipeline", "local/remote"),
    "worker_loaders": ("Worker Loader", "local"),
    "vectorize": ("Vectorize Index", "remote"),
    "ai_search_namespaces": ("AI Search Namespace", "always remote"),
    "ai_search": ("AI Search Instance", "always remote"),
    "websearch": ("Web Search", "always remote"),
    "agent_memory": ("Agent Memory", "always remote"),
    "media": ("Media", "always remote"),
    "artifacts": ("Artifacts", "always remote"),
    "flagship": ("Flagship", "always remote"),
    "vpc_services": ("VPC Service", "always remote"),
    "vpc_networks": ("VPC Network", "always remote"),
    "mtls_certificates": ("mTLS Certificate", "remote"),
    "dispatch_namespaces": ("Dispatch Namespace", "remote"),
    "unsafe_hello_world": ("Hello World", "local"),
    "logfwdr": ("logfwdr", "local"),
    "unsafe": ("Unsafe Metadata", "local"),
    "assets": ("Assets", "local"),
    "version_metadata": ("Worker Version Metadata", "local"),
    "vars": ("Environment Variable", "local"),
    "secrets": ("Secret", "local"),
}


_NOT_EMULATED = frozenset(
    (
        "browser", "images", "ai", "stream", "pipelines", "vectorize", "ai_search_namespaces",
        "ai_search", "websearch", "agent_memory", "media", "artifacts", "flagship", "vpc_services",
        "vpc_networks", "mtls_certificates", "unsafe_hello_world", "logfwdr", "unsafe",
    )
)  # fmt: skip


class Entry(Protocol):
    """What every binding entry has: its name in `env`, and where it was written."""

    @property
    def binding(self) -> str: ...
    @property
    def position(self) -> Position | None: ...
    @property
    def label(self) -> str: ...


class Binding(NamedTuple):
    """One binding of a worker. `entry` is the typed entry of its kind."""

    kind: BindingKind
    name: str
    entry: Entry
