# ruff: noqa: E501 - the messages stand here as they are printed
"""The binding blocks: what each gives, its local id, and what is wrong with wrong ones."""

from __future__ import annotations

import pytest

from pyflare.config import BindingKind

FULL = {
    "durable_objects": {
        "bindings": [
            {"name": "OWN", "class_name": "Counter"},
            {"name": "OTHER", "class_name": "Room", "script_name": "b"},
        ]
    },
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    "workflows": [{"binding": "WF", "name": "flow", "class_name": "Flow"}],
    "kv_namespaces": [{"binding": "KV", "id": "kv-id"}],
    "send_email": [{"name": "MAIL"}, {"name": "MAIL_TO", "destination_address": "a@b.c"}],
    "queues": {"producers": [{"binding": "Q", "queue": "jobs"}]},
    "d1_databases": [{"binding": "DB", "database_name": "people", "database_id": "d1-id"}],
    "hyperdrive": [{"binding": "HD", "id": "hd-id", "localConnectionString": "postgres://u:p@h/d"}],
    "r2_buckets": [{"binding": "R2", "bucket_name": "files"}],
    "secrets_store_secrets": [{"binding": "SS", "store_id": "st", "secret_name": "key"}],
    "services": [{"binding": "SVC", "service": "b", "entrypoint": "Admin", "props": {"x": 1}}],
    "analytics_engine_datasets": [{"binding": "AE", "dataset": "events"}],
    "browser": {"binding": "BR"},
    "images": {"binding": "IMG"},
    "ai": {"binding": "AI", "remote": True},
    "ratelimits": [{"name": "RL", "namespace_id": "7", "simple": {"limit": 5, "period": 60}}],
    "stream": {"binding": "STREAM"},
    "pipelines": [{"binding": "PIPE", "stream": "s"}],
    "worker_loaders": [{"binding": "LOADER"}],
    "vectorize": [{"binding": "VEC", "index_name": "i", "remote": True}],
    "ai_search_namespaces": [{"binding": "AISN", "namespace": "n"}],
    "ai_search": [{"binding": "AIS", "instance_name": "n"}],
    "websearch": {"binding": "WEB"},
    "agent_memory": [{"binding": "MEM", "namespace": "n"}],
    "media": {"binding": "MEDIA"},
    "artifacts": [{"binding": "ART", "namespace": "n"}],
    "flagship": [{"binding": "FLAG", "app_id": "a"}],
    "vpc_services": [{"binding": "VPCS", "service_id": "s"}],
    "vpc_networks": [{"binding": "VPCN", "network_id": "n"}],
    "mtls_certificates": [{"binding": "CERT", "certificate_id": "c"}],
    "dispatch_namespaces": [{"binding": "DISP", "namespace": "n", "outbound": {"service": "o"}}],
    "unsafe_hello_world": [{"binding": "HELLO", "enable_timer": True}],
    "logfwdr": {"bindings": [{"name": "LOGS", "destination": "d"}]},
    "unsafe": {"bindings": [{"name": "RAW", "type": "x"}], "metadata": {}},
    "version_metadata": {"binding": "VERSION"},
    "assets": {"directory": "public", "binding": "ASSETS"},
    "vars": {"V": "text"},
}
ROWS = [
    ("OWN", "Counter"),
    ("OTHER", "Room, defined in b"),
    ("WF", "Flow"),
    ("KV", "kv-id"),
    ("MAIL", "unrestricted"),
    ("MAIL_TO", "a@b.c"),
    ("Q", "jobs"),
    ("DB", "people"),
    ("HD", "hd-id"),
    ("R2", "files"),
    ("SS", "st/key"),
    ("SVC", "b#Admin"),
    ("AE", "events"),
    ("BR", ""),
    ("IMG", ""),
    ("AI", ""),
    ("RL", "5 requests/60s"),
    ("STREAM", ""),
    ("PIPE", "s"),
    ("LOADER", ""),
    ("VEC", "i"),
    ("AISN", "n"),
    ("AIS", "n"),
    ("WEB", ""),
    ("MEM", "n"),
    ("MEDIA", ""),
    ("ART", "n"),
    ("FLAG", "a"),
    ("VPCS", "s"),
    ("VPCN", "n"),
    ("CERT", "c"),
    ("DISP", "n"),
    ("HELLO", ""),
    ("LOGS", "d"),
    ("RAW", "x"),
    ("ASSETS", ""),
    ("VERSION", ""),
    ("V", '"text"'),
]


def test_bindings_come_in_the_order_of_the_start_up_table(project):
    (project.root / "public").mkdir()
    worker = project.worker(**FULL)
    assert [(b.name, b.entry.label) for b in worker.bindings()] == ROWS


@pytest.mark.parametrize(
    ("attribute", "names"),
    [
        ("kv_namespaces", ["KV"]),
        ("d1_databases", ["DB"]),
        ("r2_buckets", ["R2"]),
        ("durable_objects", ["OWN", "OTHER"]),
        ("workflows", ["WF"]),
        ("queue_producers", ["Q"]),
        ("services", ["SVC"]),
        ("send_email", ["MAIL", "MAIL_TO"]),
        ("ratelimits", ["RL"]),
        ("analytics_engine_datasets", ["AE"]),
        ("hyperdrive", ["HD"]),
        ("secrets_store_secrets", ["SS"]),
    ],
)
def test_a_block_is_an_attribute_of_the_worker(project, attribute, names):
    (project.root / "public").mkdir()
    worker = project.worker(**FULL)
    assert [entry.binding for entry in getattr(worker, attribute)] == names
    assert getattr(project.worker(), attribute) == ()


def test_blocks_without_an_attribute_are_reached_by_kind(project):
    worker = project.worker(ai={"binding": "AI"}, version_metadata={"binding": "V"})
    assert [entry.binding for entry in worker.hosted(BindingKind.AI)] == ["AI"]
    assert worker.hosted(BindingKind.VECTORIZE) == ()
    assert worker.version_metadata.binding == "V"


def test_every_kind_of_binding_is_in_the_full_configuration():
    assert {kind.value for kind in BindingKind} - {*FULL} == {"secrets"}


def test_every_entry_knows_its_line(project):
    (project.root / "public").mkdir()
    lines = {key: number for number, key in enumerate(FULL, start=6)}
    for binding in project.worker(**FULL).bindings():
        assert binding.entry.position.line == lines[binding.kind.value]


@pytest.mark.parametrize(
    ("block", "entry", "local_id"),
    [
        ("kv_namespaces", {"binding": "B"}, "B"),
        ("kv_namespaces", {"binding": "B", "id": "i"}, "i"),
        ("kv_namespaces", {"binding": "B", "id": "i", "preview_id": "p"}, "p"),
        ("r2_buckets", {"binding": "B"}, "B"),
        ("r2_buckets", {"binding": "B", "bucket_name": "name"}, "name"),
        (
            "r2_buckets",
            {"binding": "B", "bucket_name": "name", "preview_bucket_name": "pre"},
            "pre",
        ),
        ("d1_databases", {"binding": "B"}, "B"),
        ("d1_databases", {"binding": "B", "database_name": "n"}, "B"),
        ("d1_databases", {"binding": "B", "database_name": "n", "database_id": "i"}, "i"),
        ("d1_databases", {"binding": "B", "database_id": "i", "preview_database_id": "p"}, "p"),
        ("workflows", {"binding": "B", "name": "n", "class_name": "C"}, "n"),
        (
            "ratelimits",
            {"name": "B", "namespace_id": "7", "simple": {"limit": 1, "period": 10}},
            "7",
        ),
        ("secrets_store_secrets", {"binding": "B", "store_id": "s", "secret_name": "n"}, "s"),
    ],
)
def test_the_local_id_decides_what_is_shared(project, block, entry, local_id):
    (binding,) = project.worker(**{block: [entry]}).bindings()
    assert binding.entry.local_id == local_id


def test_two_bindings_to_one_database_name_do_not_share_without_an_id(project):
    databases = [{"binding": b, "database_name": "same"} for b in ("A", "B")]
    assert [d.local_id for d in project.worker(d1_databases=databases).d1_databases] == ["A", "B"]


def test_a_preview_id_equal_to_another_id_shares(project):
    databases = [
        {"binding": "A", "database_id": "x"},
        {"binding": "B", "database_id": "y", "preview_database_id": "x"},
    ]
    assert {d.local_id for d in project.worker(d1_databases=databases).d1_databases} == {"x"}


@pytest.mark.parametrize(
    ("entry", "environment", "local_id"),
    [
        ({"name": "O", "class_name": "C"}, None, "app-C"),
        ({"name": "O", "class_name": "C"}, "e", "app-e-C"),
        ({"name": "O", "class_name": "C", "script_name": "b"}, None, "b-C"),
        ({"name": "O", "class_name": "C", "script_name": "b", "environment": "x"}, None, "b-x-C"),
    ],
)
def test_objects_belong_to_the_script_that_defines_them(project, entry, environment, local_id):
    block = {"bindings": [entry]}
    worker = project.worker(
        environment, durable_objects=block, env={"e": {"durable_objects": block}}
    )
    assert worker.durable_objects[0].local_id == local_id


def test_the_defaults_of_a_database(project):
    (database,) = project.worker(d1_databases=[{"binding": "DB"}]).d1_databases
    assert database.migrations_dir == "./migrations"
    assert database.migrations_table == "d1_migrations"
    assert database.migrations_pattern is None


def test_a_queue_without_a_name_is_called_like_its_binding(project):
    (producer,) = project.worker(queues={"producers": [{"binding": "Q"}]}).queue_producers
    assert producer.local_id == "Q"


def test_a_consumer_with_everything(project):
    consumer = {
        "queue": "q", "type": "worker", "max_batch_size": 10, "max_batch_timeout": 2.5,
        "max_retries": 0, "dead_letter_queue": "dead", "retry_delay": 5, "max_concurrency": 2,
        "visibility_timeout_ms": 1000,
    }  # fmt: skip
    (found,) = project.worker(queues={"consumers": [consumer]}).queue_consumers
    assert {k: getattr(found, k) for k in consumer if k != "type"} == {
        k: v for k, v in consumer.items() if k != "type"
    }


@pytest.mark.parametrize(
    "key", ["max_batch_size", "max_retries", "max_concurrency", "retry_delay", "visibility_timeout_ms"]
)  # fmt: skip
def test_a_fraction_of_what_is_counted_is_refused(project, key):
    queues = {"consumers": [{"queue": "q", key: 2.5}]}
    assert project.messages("error", queues=queues) == [
        f'"queues.consumers[0].{key}" must be a whole number but got 2.5.'
    ]


def test_a_whole_number_may_be_written_with_a_point(project):
    (found,) = project.worker(
        queues={"consumers": [{"queue": "q", "max_retries": 2.0}]}
    ).queue_consumers
    assert type(found.max_retries) is int


def test_what_a_consumer_leaves_open_is_left_open(project):
    (found,) = project.worker(queues={"consumers": [{"queue": "q"}]}).queue_consumers
    assert (found.max_batch_size, found.max_retries, found.retry_delay) == (None, None, None)


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({}, "config"),
        ({"WRANGLER_HYPERDRIVE_LOCAL_CONNECTION_STRING_HD": "old"}, "old"),
        (
            {
                "WRANGLER_HYPERDRIVE_LOCAL_CONNECTION_STRING_HD": "old",
                "CLOUDFLARE_HYPERDRIVE_LOCAL_CONNECTION_STRING_HD": "new",
            },
            "new",
        ),
    ],
)
def test_the_address_of_hyperdrive_comes_from_the_environment_first(project, environ, address):
    project.config(hyperdrive=[{"binding": "HD", "id": "i", "localConnectionString": "config"}])
    (entry,) = project.load(environ=environ).worker.hyperdrive
    assert entry.local_connection_string == address
    assert address not in repr(entry)


def test_credentials_of_a_bucket_are_hidden(project):
    keys = {"accessKeyId": "id", "secretAccessKey": "hush"}
    bucket = {"binding": "B", "local_dev": {"experimental_s3_credentials": keys}}
    (found,) = project.worker(r2_buckets=[bucket]).r2_buckets
    assert found.s3_credentials == ("id", "hush")
    assert "hush" not in repr(found)


def test_a_service_in_another_environment(project):
    services = [{"binding": "S", "service": "b", "environment": "e", "props": {"a": [1]}}]
    (found,) = project.worker(services=services).services
    assert (found.target, found.label, found.props) == ("b-e", "b-e", {"a": [1]})


ENTRY_ERRORS = [
    ("kv_namespaces", 1, '"kv_namespaces" bindings should be objects, but got 1'),
    ("kv_namespaces", {}, '"kv_namespaces[0]" bindings should have a string "binding" field but got {}.'),
    ("kv_namespaces", {"binding": "K", "id": ""}, '"kv_namespaces[0]" bindings should have a string "id" field but got {"binding":"K","id":""}.'),
    ("kv_namespaces", {"binding": "K", "id": None}, '"kv_namespaces[0]" bindings should have a string "id" field but got {"binding":"K","id":null}.'),
    ("kv_namespaces", {"binding": "K", "preview_id": 1}, '"kv_namespaces[0]" bindings should, optionally, have a string "preview_id" field but got {"binding":"K","preview_id":1}.'),
    ("kv_namespaces", {"binding": "K", "remote": 1}, '"kv_namespaces[0]" should, optionally, have a boolean "remote" field but got {"binding":"K","remote":1}.'),
    ("d1_databases", {"binding": "D", "database_id": 1}, '"d1_databases[0]" bindings must have a "database_id" field but got {"binding":"D","database_id":1}.'),
    ("d1_databases", {"binding": "D", "migrations_dir": 1}, '"d1_databases[0]" bindings should, optionally, have a string "migrations_dir" field but got {"binding":"D","migrations_dir":1}.'),
    ("r2_buckets", {"binding": "B", "bucket_name": "Not_OK"}, 'r2_buckets[0].bucket_name="Not_OK" is invalid. Bucket names must begin and end with an alphanumeric character, only contain lowercase letters, numbers, and hyphens, and be between 3 and 63 characters long.'),
    ("r2_buckets", {"binding": "B", "local_dev": {"experimental_s3_credentials": {"secretAccessKey": "x"}}}, '"r2_buckets[0]" bindings should, optionally, have a "local_dev.experimental_s3_credentials" field with string "accessKeyId" and "secretAccessKey" fields, but got {"binding":"B","local_dev":{"experimental_s3_credentials":{"secretAccessKey":"(hidden)"}}}.'),
    ("r2_buckets", {"binding": "B", "local_dev": []}, '"r2_buckets[0]" bindings should, optionally, have an object "local_dev" field but got {"binding":"B","local_dev":[]}.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "schedules": None}, '"workflows[0]" bindings should, optionally, have a string or array of strings "schedules" field but got {"binding":"W","name":"n","class_name":"C","schedules":null}.'),
    ("kv_namespaces", {"binding": "K", "id": ["a"]}, '"kv_namespaces[0]" bindings should have a string "id" field but got {"binding":"K","id":["a"]}.'),
    ("workflows", {"binding": "W", "name": "n"}, '"workflows[0]" bindings should have a string "class_name" field but got {"binding":"W","name":"n"}.'),
    ("workflows", {"binding": "W", "name": "-n", "class_name": "C"}, '"workflows[0]" binding "name" field is invalid. Workflow names must be 1-64 characters long, start with a letter, number, or underscore, and may only contain letters, numbers, underscores, or hyphens.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "limits": {"steps": 0}}, '"workflows[0]" bindings "limits.steps" field must be a positive integer but got 0.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "limits": 1}, '"workflows[0]" bindings should, optionally, have an object "limits" field but got {"binding":"W","name":"n","class_name":"C","limits":1}.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "schedules": ""}, '"workflows[0]" bindings "schedules" field must not be an empty string.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "schedules": []}, '"workflows[0]" bindings "schedules" field must not be an empty array.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "schedules": ["x", ""]}, '"workflows[0]" bindings "schedules" field must not contain empty strings.'),
    ("workflows", {"binding": "W", "name": "n", "class_name": "C", "schedules": 1}, '"workflows[0]" bindings should, optionally, have a string or array of strings "schedules" field but got {"binding":"W","name":"n","class_name":"C","schedules":1}.'),
    ("services", {"binding": "S"}, '"services[0]" bindings should have a string "service" field but got {"binding":"S"}.'),
    ("services", {"binding": "S", "service": "b", "props": 1}, '"services[0].props" should be an object but got 1.'),
    ("send_email", {"binding": "M"}, '"send_email[0]" bindings should have a string "name" field but got {"binding":"M"}.'),
    ("send_email", {"name": "M", "allowed_sender_addresses": "a"}, '"send_email[0]" bindings should, optionally, have a []string "allowed_sender_addresses" field but got {"name":"M","allowed_sender_addresses":"a"}.'),
    ("send_email", {"name": "M", "destination_address": "a", "allowed_destination_addresses": []}, '"send_email[0]" bindings should have either a "destination_address" or "allowed_destination_addresses" field, but not both.'),
    ("ratelimits", {"name": "R", "namespace_id": 1, "simple": {"limit": 1, "period": 10}}, '"ratelimits[0]" bindings must have a string "namespace_id" field but got {"name":"R","namespace_id":1,"simple":{"limit":1,"period":10}}.'),
    ("ratelimits", {"name": "R", "namespace_id": "x", "simple": {"limit": 1, "period": 10}}, '"ratelimits[0]" bindings must have a "namespace_id" field that is the text of a positive integer but got "x".'),
    ("ratelimits", {"name": "R", "namespace_id": "1"}, '"ratelimits[0]" bindings must have a "simple" configuration object but got {"name":"R","namespace_id":"1"}.'),
    ("ratelimits", {"name": "R", "namespace_id": "1", "simple": {"limit": "1", "period": 10}}, '"ratelimits[0]" bindings "simple.limit" must be a number but got {"limit":"1","period":10}.'),
    ("ratelimits", {"name": "R", "namespace_id": "1", "simple": {"limit": 1}}, '"ratelimits[0]" bindings "simple.period" is required and must be a number but got {"limit":1}.'),
    ("ratelimits", {"name": "R", "namespace_id": "1", "simple": {"limit": 1, "period": 30}}, '"ratelimits[0]" bindings "simple.period" must be either 10 or 60 but got 30.'),
    ("analytics_engine_datasets", {"binding": "A", "dataset": ""}, '"analytics_engine_datasets[0]" bindings should, optionally, have a string "dataset" field but got {"binding":"A","dataset":""}.'),
    ("hyperdrive", {"binding": "H"}, '"hyperdrive[0]" bindings must have a "id" field but got {"binding":"H"}.'),
    ("secrets_store_secrets", {"binding": "S", "store_id": "s"}, '"secrets_store_secrets[0]" bindings must have a string "secret_name" field but got {"binding":"S","store_id":"s"}.'),
    ("vectorize", {"binding": "V"}, '"vectorize[0]" bindings must have an "index_name" field but got {"binding":"V"}.'),
    ("mtls_certificates", {"binding": "C", "certificate_id": ""}, '"mtls_certificates[0]" bindings should have a string "certificate_id" field but got {"binding":"C","certificate_id":""}.'),
    ("pipelines", {"binding": "P"}, '"pipelines[0]" bindings must have a string "stream" field but got {"binding":"P"}.'),
    ("pipelines", {"binding": "P", "stream": ""}, '"pipelines[0]" bindings must have a string "stream" field but got {"binding":"P","stream":""}.'),
    ("vpc_networks", {"binding": "V"}, '"vpc_networks[0]" bindings must have either a "tunnel_id" or "network_id" field but got {"binding":"V"}.'),
    ("vpc_networks", {"binding": "V", "tunnel_id": "t", "network_id": "n"}, '"vpc_networks[0]" bindings must have either a "tunnel_id" or "network_id", but not both.'),
    ("dispatch_namespaces", {"binding": "D", "outbound": {}}, '"dispatch_namespaces[0]" has an invalid outbound definition.'),
    ("flagship", {"binding": "F", "app_id": 1}, '"flagship[0]" bindings may have a string "app_id" field but got {"binding":"F","app_id":1}.'),
    ("services", {"binding": "S", "service": "b", "entrypoint": 1}, '"services[0]" bindings should have a string "entrypoint" field but got {"binding":"S","service":"b","entrypoint":1}.'),
    ("r2_buckets", {"binding": "B", "local_dev": 1}, '"r2_buckets[0]" bindings should, optionally, have an object "local_dev" field but got {"binding":"B","local_dev":1}.'),
    ("r2_buckets", {"binding": "B", "jurisdiction": 1}, '"r2_buckets[0]" bindings should, optionally, have a string "jurisdiction" field but got {"binding":"B","jurisdiction":1}.'),
    ("vpc_networks", {"binding": "V", "tunnel_id": 1}, '"vpc_networks[0]" bindings must have a string "tunnel_id" field but got {"binding":"V","tunnel_id":1}.'),
    ("dispatch_namespaces", {}, '"dispatch_namespaces[0]" should have a string "binding" field but got {}.'),
    ("worker_loaders", {}, '"worker_loaders[0]" bindings must have a string "binding" field but got {}.'),
    ("unsafe_hello_world", {"binding": "H", "enable_timer": 1}, '"unsafe_hello_world[0]" bindings must have a boolean "enable_timer" field but got {"binding":"H","enable_timer":1}.'),
    ("artifacts", {"binding": "A"}, '"artifacts[0]" bindings must have a string "namespace" field but got {"binding":"A"}.'),
    ("tail_consumers", {}, '"tail_consumers[0].service" is a required field.'),
    ("tail_consumers", 1, '"tail_consumers[0]" should be an object but got 1.'),
]  # fmt: skip


@pytest.mark.parametrize(("block", "entry", "message"), ENTRY_ERRORS)
def test_a_wrong_entry(project, block, entry, message):
    assert message in project.messages("error", **{block: [entry]})


@pytest.mark.parametrize(("block", "entry", "message"), ENTRY_ERRORS[1:4])
def test_a_wrong_entry_of_an_environment_is_named_with_it(project, block, entry, message):
    found = project.messages("error", "e", env={"e": {block: [entry]}})
    assert found == [message.replace(block, f"env.e.{block}")]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kv_namespaces": {}}, 'The field "kv_namespaces" should be an array but got {}.'),
        ({"queues": []}, 'The field "queues" should be an object but got [].'),
        ({"queues": {"producers": {}}}, 'The field "queues.producers" should be an array but got {}.'),
        ({"queues": {"consumers": 1}}, 'The field "queues.consumers" should be an array but got 1.'),
        ({"queues": {"producers": [1]}}, '"queue" bindings should be objects, but got 1'),
        ({"queues": {"consumers": [1]}}, '"queues.consumers[0]" should be a objects, but got 1'),
        ({"queues": {"producers": [{}]}}, '"queues.producers[0]" bindings should have a string "binding" field but got {}.'),
        ({"queues": {"producers": [{"binding": "Q", "queue": ""}]}}, '"queues.producers[0]" bindings should optionally have a non-empty string "queue" field but got {"binding":"Q","queue":""}.'),
        ({"queues": {"consumers": [{}]}}, '"queues.consumers[0]" should have a string "queue" field but got {}.'),
        ({"queues": {"consumers": [{"queue": "q", "type": "http_pull"}]}}, '"queues.consumers[0].type" has an invalid value "http_pull". Only "worker" consumers can be configured in your Wrangler configuration.'),
        ({"queues": {"consumers": [{"queue": "q", "max_retries": "3"}]}}, '"queues.consumers[0]" should, optionally, have a number "max_retries" field but got {"queue":"q","max_retries":"3"}.'),
        ({"queues": {"consumers": [{"queue": "q", "max_batch_size": 101}]}}, '"queues.consumers[0].max_batch_size" must be between 1 and 100 but got 101.'),
        ({"queues": {"consumers": [{"queue": "q", "dead_letter_queue": "q"}]}}, 'Dead letter queue for queue "q" cannot be itself'),
        ({"durable_objects": []}, 'The field "durable_objects" should be an object but got [].'),
        ({"durable_objects": {}}, 'The field "durable_objects" is missing the required "bindings" property.'),
        ({"durable_objects": {"bindings": 1}}, 'The field "durable_objects.bindings" should be an array but got 1.'),
        ({"durable_objects": {"bindings": [1]}}, 'Expected "durable_objects.bindings[0]" to be an object but got 1'),
        ({"durable_objects": {"bindings": [{"name": "A", "class_name": "C", "environment": "e"}]}}, 'binding should have a "script_name" field if "environment" is present.'),
        ({"durable_objects": {"bindings": [{"name": "A", "class_name": "C", "remote": True}]}}, "Durable Object bindings do not support accessing remote resources."),
        ({"browser": []}, 'The field "browser" should be an object but got [].'),
        ({"browser": {}}, 'binding should have a string "binding" field.'),
        ({"version_metadata": {}}, 'binding should have a string "binding" field.'),
        ({"unsafe": 1}, 'The field "unsafe" should be an object but got 1.'),
        ({"unsafe": {"bindings": [{"name": "U"}]}}, 'binding should have a string "type" field.'),
        ({"unsafe": {"bindings": [{"name": "U", "type": "ratelimit"}]}}, '"unsafe.bindings[0]" bindings must have a "simple" configuration object but got {"name":"U","type":"ratelimit"}.'),
        ({"unsafe": {"bindings": 1}}, 'The field "unsafe.bindings" should be an array but got 1.'),
        ({"unsafe": {"metadata": 1}}, 'The field "unsafe.metadata" should be an object but got 1.'),
        ({"logfwdr": {}}, 'The field "logfwdr" is missing the required "bindings" property.'),
        ({"unsafe": {"bindings": [1]}}, 'Expected "unsafe.bindings[0]" to be an object but got 1'),
        ({"logfwdr": {"bindings": [{"name": "L"}]}}, 'binding should have a string "destination" field.'),
        ({"durable_objects": {"bindings": [{"name": "A", "class_name": "C", "script_name": 1}]}}, 'the field "script_name", when present, should be a string.'),
        ({"tail_consumers": 1}, 'Expected "tail_consumers" to be an array but got 1.'),
        ({"connect": [{"protocol": "udp", "port": 1}]}, '"connect[0]" should have a "protocol" field of "tcp" but got "udp".'),
        ({"connect": [{"protocol": "tcp", "port": 0}]}, '"connect[0]" should have an integer "port" field between 1 and 65535 but got {"protocol":"tcp","port":0}.'),
        ({"connect": [{"protocol": "tcp", "port": 1}] * 2}, '"connect[1]" has the same "protocol" (tcp) and "port" (1) as "connect[0]". Each entry in "connect" must use a unique protocol/port combination.'),
        ({"containers": 1}, '"containers" field should be an array, but got 1'),
    ],
)  # fmt: skip
def test_a_wrong_block(project, settings, message):
    assert message in project.messages("error", **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"queues": {"producers": [{"binding": "Q", "delivery_delay": 5}]}}, 'The "delivery_delay" field in "queues.producers[0]" is deprecated and has no effect. Queue-level settings should be configured using "wrangler queues update" instead.'),
        ({"queues": {"producers": [{"binding": "Q", "x": 1}]}}, 'Unexpected fields found in queues.producers[0] field: "x"'),
        ({"workflows": [{"binding": "W", "name": "n", "class_name": "C", "limits": {"steps": 30000}}]}, '"workflows[0]" has a step limit of 30000, which exceeds the production maximum of 25,000. This configuration may not work when deployed.'),
        ({"unsafe": {}}, '"unsafe" fields are experimental and may change or break at any time.'),
        ({"pipelines": [{"binding": "P", "pipeline": "p"}]}, 'The "pipeline" field in "pipelines[0]" bindings is deprecated. Use "stream" instead.'),
        ({"services": [{"binding": "S", "service": "b", "dev": {}}]}, '"services[0].dev" names a plugin of the JavaScript tools and has no effect here.'),
        ({"containers": [{"class_name": "C", "image": "i"}]}, '"containers" are not started locally: an object that uses its container gets an error.'),
        ({"connect": [{"protocol": "tcp", "port": 1}]}, '"connect" handlers are not served locally: no port is opened.'),
        ({"kv_namespaces": [{"binding": "K", "remote": True}]}, 'K sets "remote": true, but the deployed resource is not reached: a local one is used.'),
        ({"dispatch_namespaces": [{"binding": "D", "namespace": "n", "remote": True}]}, 'D sets "remote": true, but the deployed resource is not reached: a local one is used.'),
        ({"site": {"bucket": "b"}}, '"site" is not served locally. Use "assets" for static files.'),
        ({"wasm_modules": {"W": "w.wasm"}}, '"wasm_modules" needs a Worker without modules and has no effect here.'),
        ({"account_id": ""}, 'The "account_id" field in your configuration is an empty string and will be ignored.\nPlease remove the "account_id" field from your configuration.'),
    ],
)  # fmt: skip
def test_a_remark_about_a_block(project, settings, message):
    assert project.messages("warning", **settings) == [message]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ai": {"binding": "AI", "remote": False}}, 'AI bindings do not support local development: there is no local simulator for AI. Remove "remote": false from the binding.'),
        ({"vectorize": [{"binding": "V", "index_name": "i", "remote": False}]}, 'Vectorize Index bindings do not support local development: there is no local simulator for V. Remove "remote": false from the binding.'),
    ],
)  # fmt: skip
def test_local_where_there_is_nothing_local(project, settings, message):
    assert project.messages("error", **settings) == [message]
