# ruff: noqa: E501 - the messages stand here as they are printed
"""Routes, module rules, assets, triggers, the dev block, and `parse`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from pyflare.config import ConfigError, ModuleRules, Overrides, Route, Rule, parse


@pytest.mark.parametrize(
    ("settings", "routes"),
    [
        ({}, ()),
        ({"route": "a.com/*"}, (Route("a.com/*"),)),
        ({"route": {"pattern": "a.com", "zone_name": "z"}}, (Route("a.com", "z"),)),
        ({"routes": ["a", {"pattern": "b", "custom_domain": True}]}, (Route("a"), Route("b", None, None, True))),
        ({"routes": [{"pattern": "b", "zone_id": "i", "custom_domain": True, "enabled": False}]}, (Route("b", None, "i", True),)),
    ],
)  # fmt: skip
def test_routes(project, settings, routes):
    assert project.worker(**settings).routes == routes


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"pattern": "a"},
        {"pattern": 1, "zone_id": "z"},
        {"pattern": "a", "zone_id": "z", "zone_name": "n"},
        {"pattern": "a", "zone_id": "z", "bogus": 1},
        {"pattern": "a", "zone_id": "z", "enabled": True},
        1,
    ],
)
def test_routes_of_a_wrong_shape(project, wrong):
    (one,) = project.messages("error", route=wrong)
    assert one.startswith('Expected "route" to be either a string, or an object with shape {')
    (several,) = project.messages("error", routes=["a", wrong])
    assert several.startswith('Expected "routes" to be an array of either strings or objects')


def test_route_and_routes_exclude_each_other(project):
    assert project.messages("error", route="a", routes=["b"]) == [
        'Expected exactly one of the following fields ["routes","route"].'
    ]


@pytest.mark.parametrize(
    ("pattern", "host"),
    [("a.com", "a.com"), ("https://a.com/x/*", "a.com"), ("*.a.com/*", "*.a.com")],
)
def test_the_host_of_a_route(pattern, host):
    assert Route(pattern).host == host


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("entry.py", "PythonModule"),
        ("app/deep/view.py", "PythonModule"),
        ("page.html", "Text"),
        ("sql/schema.sql", "Text"),
        ("model.bin", "Data"),
        ("lib.wasm", "CompiledWasm"),
        ("data.json", None),
        ("template.jinja", None),
    ],
)
def test_what_is_shipped_without_rules(project, path, kind):
    assert ModuleRules(project.worker().rules).module_type(path) == kind


def test_a_rule_hides_the_built_in_rule_of_its_type_unless_it_falls_through():
    own = Rule("Text", ("*.jinja",))
    assert ModuleRules((own,)).module_type("page.jinja") == "Text"
    assert ModuleRules((own,)).module_type("deep/page.jinja") is None
    assert ModuleRules((own,)).module_type("page.html") is None
    assert ModuleRules((Rule("Data", ("files/**",)),)).module_type("files/a/b.c") == "Data"
    falling = Rule("Text", ("*.jinja",), fallthrough=True)
    assert ModuleRules((falling,)).module_type("page.html") == "Text"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({}, 'The field "rules" should be an array but got {}.'),
        ([1], '"rules[0]" should be an object but got 1.'),
        (
            [{"type": "PythonModule", "globs": ["**/*.py"]}],
            'bindings should have a string "type" field, which contains one of "ESModule", '
            '"CommonJS", "CompiledWasm", "Text", or "Data".',
        ),
        ([{"type": "Text"}], 'Expected "rules[0].globs" to be an array of strings but got null'),
        (
            [{"type": "Text", "globs": [], "fallthrough": 1}],
            'the field "fallthrough", when present, should be a boolean.',
        ),
    ],
)
def test_wrong_rules(project, rules, message):
    assert project.messages("error", rules=rules) == [message]


class TestAssets:
    def test_defaults(self, project):
        (project.root / "public").mkdir()
        assets = project.worker(assets={"directory": "public"}).assets
        assert assets.directory == project.root / "public"
        assert (assets.html_handling, assets.not_found_handling) == ("auto-trailing-slash", "none")
        assert assets.run_worker_first is False

    def test_a_worker_of_assets_alone(self, project):
        (project.root / "public").mkdir()
        worker = project.worker(main=None, assets={"directory": "public"})
        assert (worker.main, worker.base_dir) == (None, project.root)

    def test_the_command_line_gives_the_directory(self, project):
        (project.root / "dist").mkdir()
        project.config(assets={"directory": "public", "not_found_handling": "404-page"})
        loaded = project.load(overrides=Overrides(assets=Path("dist")))
        assert loaded.worker.assets.directory == project.root / "dist"
        assert loaded.worker.assets.not_found_handling == "404-page"

    @pytest.mark.parametrize(
        ("assets", "settings", "message"),
        [
            ({}, {}, "The `assets` property in your configuration is missing the required `directory` property."),
            ({"directory": "no"}, {}, 'The directory specified by the "assets.directory" field in your configuration file does not exist:\n{root}/no'),
            ({"directory": "src/entry.py"}, {}, "The path specified by the \"assets.directory\" field in your configuration file doesn't point to a directory:\n{root}/src/entry.py"),
            ({"directory": "src", "binding": "A"}, {"main": None}, "Cannot use assets with a binding in an assets-only Worker.\nPlease remove the asset binding from your configuration file, or provide a Worker script in your configuration file (`main`)."),
            ({"directory": "src", "run_worker_first": True}, {"main": None}, "Cannot set run_worker_first without a Worker script.\nPlease remove run_worker_first from your configuration file, or provide a Worker script in your configuration file (`main`)."),
            ({"directory": "src"}, {"site": {"bucket": "b"}}, "Cannot use assets and Workers Sites in the same Worker.\nPlease remove either the `site` or `assets` field from your configuration file."),
            ({"directory": "src", "html_handling": "x"}, {}, 'Expected "assets.html_handling" field to be one of ["auto-trailing-slash","force-trailing-slash","drop-trailing-slash","none"] but got "x".'),
            ({"directory": "src", "run_worker_first": "x"}, {}, 'The field "assets.run_worker_first" should be an array of strings or a boolean, but got "x".'),
            ({"directory": "src", "run_worker_first": []}, {}, "No `run_worker_first` rules were provided; must provide at least 1 rule."),
            ({"directory": "src", "run_worker_first": ["/a"] * 101}, {}, "Too many `run_worker_first` rules were provided; 101 rules provided exceeds max of 100."),
            ({"directory": "src", "run_worker_first": ["!/a"]}, {}, "Only negative `run_worker_first` rules were provided; must provide at least 1 non-negative rule"),
            ({"directory": "src", "run_worker_first": ["a", "!b", "/a", "/a", "/x*", "/xy"]}, {}, "Invalid routes in `run_worker_first`:\n'a': rules must start with '/' or '!/'\n'!b': negative rules must start with '!/'\n'/a': rule is a duplicate; rules must be unique\n'/xy': rule '/x*' makes it redundant"),
            ({"directory": "src", "run_worker_first": ["/" + "a" * 100]}, {}, "Invalid routes in `run_worker_first`:\n'/" + "a" * 100 + "': all rules must be less than 100 characters in length"),
        ],
    )  # fmt: skip
    def test_what_cannot_be(self, project, assets, settings, message):
        found = project.messages("error", assets=assets, **settings)
        assert found == [message.replace("{root}", str(project.root))]

    def test_always_first_without_a_way_to_the_assets(self, project):
        (message,) = project.messages(
            "warning", assets={"directory": "src", "run_worker_first": True}
        )
        assert message.startswith("run_worker_first=true set without an assets binding")


@pytest.mark.parametrize(
    ("triggers", "crons"),
    [(None, None), ({}, None), ({"crons": []}, ()), ({"crons": ["0 * * * *"]}, ("0 * * * *",))],
)
def test_crons_that_are_absent_are_not_an_empty_list(project, triggers, crons):
    assert project.worker(triggers=triggers).crons == crons


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (1, 'Expected "triggers.events[0]" to be of type object, but got 1.'),
        ({"type": "x", "targets": [{"type": "workflow", "workflow_name": "w"}]}, 'Expected "triggers.events[0].type" to be a supported Artifacts event type, but got "x".'),
        ({"type": "cf.artifacts.repo.pushed"}, 'Expected "triggers.events[0].targets" to be a non-empty array, but got null.'),
        ({"type": "cf.artifacts.repo.pushed", "targets": [{}]}, 'Expected "triggers.events[0].targets[0]" to be a workflow target with a non-empty "workflow_name", but got {}.'),
        ({"type": "cf.artifacts.repo.pushed", "filter": 1, "targets": [{"type": "workflow", "workflow_name": "w"}]}, 'Expected "triggers.events[0].filter" to be of type object, but got 1.'),
        ({"type": "cf.artifacts.repo.pushed", "filter": {"x": "y"}, "targets": [{"type": "workflow", "workflow_name": "w"}]}, 'Expected "triggers.events[0].filter" to contain only string "namespace" and "repo_name" fields, but got {"x":"y"}.'),
    ],
)  # fmt: skip
def test_wrong_events(project, event, message):
    assert project.messages("error", triggers={"events": [event]}) == [message]


def test_the_dev_block(project):
    dev = project.worker(dev={"ip": "0.0.0.0", "port": 0, "local_protocol": "https"}).dev
    assert (dev.ip, dev.port, dev.local_protocol, dev.upstream_protocol) == (
        "0.0.0.0", 0, "https", "https",
    )  # fmt: skip


@pytest.mark.parametrize("host", ["example.com", "example.com:8080", "[::1]:80", "my_host"])
def test_a_host_of_the_dev_block(project, host):
    assert project.worker(dev={"host": host}).dev.host == host


@pytest.mark.parametrize(
    "host", ["https://example.com/foo", "exa mple", "*.example.com", "", "a:70000", "a/b"]
)
def test_a_host_of_the_dev_block_that_is_none(project, host):
    (message,) = project.messages("error", dev={"host": host})
    assert message == (
        '"dev.host" must be a host name, with or without a port, such as "example.com" '
        f'but got "{host}".'
    )


@pytest.mark.parametrize(
    ("pattern", "reasons"),
    [
        ("*.example.com", ["Wildcard operators (*) are not allowed in Custom Domains"]),
        ("example.com/api", ["Paths are not allowed in Custom Domains"]),
        (
            "example.com/api/*",
            [
                "Wildcard operators (*) are not allowed in Custom Domains",
                "Paths are not allowed in Custom Domains",
            ],
        ),
    ],
)
def test_custom_domains_that_are_none(project, pattern, reasons):
    routes = ["example.com/*", {"pattern": pattern, "custom_domain": True}]
    (message,) = project.messages("error", routes=routes)
    assert message == "\n".join(["Invalid Routes:", f"{pattern}:", *reasons])


@pytest.mark.parametrize("first", [False, ["/api/*"]])
def test_routes_at_whose_paths_the_assets_have_to_lie(project, first):
    project.write("public/index.html", "")
    assets = {"directory": "public", "binding": "A", "run_worker_first": first}
    routes = ["example.com/blog/*", "https://example.com/x", "example.com/*"]
    (message,) = project.messages("warning", assets=assets, routes=routes)
    assert message == (
        "The following routes will attempt to serve Assets on a configured path:\n"
        "  • example.com/blog/* (Will match assets: public/blog/*)\n"
        "  • https://example.com/x (Will match assets: public/x)\n\n"
        "Requests not matching an asset will be forwarded to the Worker's code."
    )


def test_routes_with_paths_are_fine_where_the_worker_comes_first(project):
    project.write("public/index.html", "")
    assets = {"directory": "public", "binding": "A", "run_worker_first": True}
    assert project.messages("warning", assets=assets, routes=["example.com/blog/*"]) == []


def test_routes_of_the_command_line_replace_those_of_the_configuration(project):
    project.config(routes=["a.com/*", "b.com/*"])
    worker = project.load(overrides=Overrides(routes=("c.com/x/*",))).worker
    assert [route.pattern for route in worker.routes] == ["c.com/x/*"]


def test_the_command_line_wins_over_the_configuration(project):
    project.config(env={"e": {}})
    overrides = Overrides(
        name="cli", compatibility_date="2026-03-03", compatibility_flags=("python_workers", "rpc")
    )
    worker = project.load(env="e", overrides=overrides).worker
    assert (worker.name, worker.compatibility_date) == ("cli", "2026-03-03")
    assert worker.compatibility_flags == ("python_workers", "rpc")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(name="No!"), 'Expected "--name" to be of type string, alphanumeric and lowercase with dashes only but got "No!".'),
        (Overrides(compatibility_date="soon"), '"--compatibility-date" should be a valid ISO-8601 date (YYYY-MM-DD), but got "soon".'),
        (Overrides(assets=Path("no")), 'The directory specified by the "--assets" command line argument does not exist:\n{root}/no'),
        (Overrides(script=Path("no.py")), 'The entry-point file at "no.py" was not found.'),
    ],
)  # fmt: skip
def test_wrong_values_on_the_command_line(project, overrides, message):
    project.config()
    found = project.error(overrides=overrides).diagnostics
    assert found[0].message == message.replace("{root}", str(project.root))


@pytest.mark.parametrize("main", ["a\0b.py", "x" * 5000 + ".py", "a/" * 3000 + "b.py"])
def test_an_entry_point_that_no_disk_could_hold(project, main):
    (message,) = project.messages("error", main=main)
    assert message.startswith("The entry-point file at")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"placement": {"hint": "x", "region": "y"}}, '"placement" cannot have both "hint" (smart format) and "region"/"host"/"hostname" (targeted format) fields'),
        ({"placement": {"hint": "x"}}, '"placement.mode" is a required field.'),
        ({"placement": {"mode": "smart", "hint": 1}}, 'Expected "placement.hint" to be of type string but got 1.'),
        ({"placement": {"region": "a", "host": "b"}}, '"placement" fields "region", "host" are mutually exclusive. Only one can be specified.'),
        ({"placement": 1}, '"placement" should be an object but got 1.'),
        ({"cache": {}}, '"cache.enabled" is a required field.'),
        ({"access": {"dev": {}}}, '"access.dev.aud" is a required field.'),
        ({"access": {"dev": {"aud": "a", "identity": 1}}}, 'Expected "access.dev.identity" to be of type object but got 1.'),
        ({"observability": {"logs": {"enabled": 1}}}, 'Expected "observability.logs.enabled" to be of type boolean but got 1.'),
        ({"observability": {"enabled": True, "head_sampling_rate": 2}}, '"observability.head_sampling_rate" must be a value between 0 and 1.'),
        ({"observability": {"logs": {"enabled": True, "head_sampling_rate": -1}}}, '"observability.logs.head_sampling_rate" must be a value between 0 and 1.'),
        ({"observability": {"traces": {"enabled": True, "destinations": 1}}}, 'Expected "traces.destinations" to be an array of strings but got 1'),
        ({"observability": {"logs": {"enabled": True, "persist": 1}}}, 'Expected "observability.logs.persist" to be of type boolean but got 1.'),
        ({"placement": {"mode": "off", "hint": "wnam"}}, '"placement.hint" can only be set when "placement.mode" is "smart"'),
        ({"containers": [{"class_name": "A"}]}, '"containers.image" field must be defined for each container app. This should be the path to your Dockerfile or an image URI pointing to the Cloudflare registry.'),
        ({"cloudchamber": {"vcpu": "x"}}, '"cloudchamber" bindings should, optionally, have a number "vcpu" field but got {"vcpu":"x"}.'),
        ({"cloudchamber": {"image": 1}}, '"cloudchamber" bindings should, optionally, have a string "image" field but got {"image":1}.'),
        ({"site": {"bucket": "b", "entry-point": "x"}}, "Don't define both the `main` and `site.entry-point` fields in your configuration.\nThey serve the same purpose: to point to the entry-point of your worker.\nDelete the deprecated `site.entry-point` field from your config."),
        ({"containers": [1]}, '"containers[0]" should be an object but got 1.'),
        ({"containers": [{"class_name": 1}]}, 'Expected "containers.class_name" to be of type string but got 1.'),
        ({"connect": {}}, 'The field "connect" should be an array but got {}.'),
        ({"connect": [1]}, '"connect[0]" should be an object, but got 1'),
        ({"connect": [{"protocol": "tcp", "port": 1, "address": 1}]}, '"connect[0]" should, optionally, have a string "address" field but got {"protocol":"tcp","port":1,"address":1}.'),
        ({"site": {}}, '"site.bucket" is a required field.'),
        ({"site": {"bucket": "b", "include": 1}}, 'Expected "site.include" to be an array of strings but got 1'),
        ({"alias": {"a": 1}}, 'Expected "alias.a" to be of type string but got 1.'),
        ({"text_blobs": 1}, '"text_blobs" should be an object but got 1.'),
        ({"dependencies_instrumentation": {"enabled": 1}}, 'Expected "dependencies_instrumentation.enabled" to be of type boolean but got 1.'),
        ({"python_modules": {"exclude": "x"}}, 'Expected "python_modules.exclude" to be of type string array but got "x".'),
        ({"python_modules": 1}, '"python_modules" should be an object but got 1.'),
        ({"build": 1}, '"build" should be an object but got 1.'),
        ({"build": {"watch_dir": [1]}}, 'Expected "build.watch_dir.[0]" to be of type string but got 1.'),
        ({"limits": []}, '"limits" should be an object but got [].'),
        ({"dev": []}, '"dev" should be an object but got [].'),
        ({"assets": 1}, '"assets" should be an object but got 1.'),
        ({"routes": 1}, 'Expected "routes" to be an array but got 1.'),
        ({"triggers": {"events": 1}}, 'Expected "triggers.events" to be of type array, but got {"events":1}.'),
        ({"vars": None, "exports": []}, 'The optional "exports" field should be an object keyed by class name, but got []'),
        ({"define": 1}, 'The field "define" should be an object but got 1.'),
        ({"secrets": 1}, 'The field "secrets" should be an object but got 1.'),
        ({"addresses": "a"}, 'Expected "addresses" to be an array of strings but got "a"'),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(project, settings, message):
    assert message in project.messages("error", **settings)


@pytest.mark.parametrize(
    ("block", "name"),
    [
        ({"enabled": True, "bogus": 1}, "bogus"),
        ({"logs": {"enabled": True, "bogus": 1}}, "bogus"),
        ({"traces": {"enabled": True, "invocation_logs": True}}, "invocation_logs"),
    ],
)
def test_unknown_fields_of_observability(project, block, name):
    (message,) = project.messages("warning", observability=block)
    assert message == f'Unexpected fields found in observability field: "{name}"'


def test_settings_for_deployment_that_are_right(project):
    settings = {
        "placement": {"mode": "targeted", "region": "x"},
        "observability": {"traces": {"enabled": True, "head_sampling_rate": 0.5}},
        "cache": {"enabled": False, "cross_version_cache": False},
        "access": {},
        "account_id": "1",
        "compliance_region": "public",
        "tsconfig": "t.json",
        "keep_vars": True,
        "site": None,
        "alias": {"a": "b"},
        "dependencies_instrumentation": {"enabled": True, "exclude_packages": ["x"]},
    }
    assert project.messages("warning", **settings) == []
    assert project.load().worker.deploy_only["placement"] == settings["placement"]


def test_a_simulated_access_application_is_told_to_have_no_effect(project):
    settings = {"access": {"dev": {"aud": "a", "identity": {"email": "x"}}}}
    assert project.messages("warning", **settings) == [
        '"access.dev" has no effect: ctx.access is None, as without Access.'
    ]


def test_a_cache_in_front_of_the_worker_is_told_to_have_no_effect(project):
    assert project.messages("warning", cache={"enabled": True}) == [
        '"cache.enabled" has no effect: every request reaches the Worker, and ctx.cache is None.'
    ]
    assert project.messages("warning", cache={"enabled": False}) == []


def test_an_empty_route_is_ignored_with_a_remark(project):
    (message,) = project.messages("warning", route="")
    assert message.startswith('The "route" field in your configuration is an empty string')
    assert project.load().worker.routes == ()


def test_a_build_without_a_command_watches_nothing(project):
    assert project.worker(build={"watch_dir": "x"}).build.watch_dirs == ()
    assert project.worker(build={"command": "make"}).build.watch_dirs == (project.root / "src",)


def test_data_commands_need_no_entry_point(project):
    project.config(main="built/later.py", compatibility_date="2099-01-01")
    assert project.load(running=False).worker.main == project.root / "built/later.py"


class TestParse:
    """A configuration from Python objects."""

    DATA: ClassVar = {
        "main": Path("src/entry.py"),
        "compatibility_date": "2026-01-01",
        "compatibility_flags": ("python_workers",),
        "d1_databases": ({"binding": "DB"},),
    }

    def parse(self, project, **settings):
        return parse({**self.DATA, **settings}, base=project.root, environ={})

    def test_paths_start_at_the_base(self, project):
        worker = self.parse(project).worker
        assert worker.main == project.root / "src/entry.py"
        assert [(b.name, b.entry.position) for b in worker.bindings()] == [("DB", None)]

    def test_secret_files_are_read_only_on_demand(self, project):
        project.write(".dev.vars", "A=1")
        assert self.parse(project).worker.secrets == {}
        loaded = parse(self.DATA, base=project.root, environ={}, secret_files=True)
        assert loaded.worker.secrets == {"A": "1"}

    def test_mistakes_have_no_place(self, project):
        with pytest.raises(ConfigError) as caught:
            self.parse(project, name="No!")
        assert str(caught.value) == (
            "Processing wrangler configuration:\n\n"
            '    - Expected "name" to be of type string, alphanumeric and lowercase with dashes '
            'only but got "No!".'
        )

    @pytest.mark.parametrize(
        ("vars", "message"),
        [
            ({"A": object}, 'The field "vars.A" has the type type, which a configuration cannot hold; accepted are str, int, float, bool, None, mappings and lists.'),
            ({"A": [b"x"]}, 'The field "vars.A[0]" has the type bytes, which a configuration cannot hold; accepted are str, int, float, bool, None, mappings and lists.'),
            ({1: "x"}, 'Keys in "vars" must be of type str, but got 1.'),
        ],
    )  # fmt: skip
    def test_values_that_no_configuration_holds(self, project, vars, message):
        with pytest.raises(ConfigError) as caught:
            self.parse(project, vars=vars)
        assert str(caught.value) == message

    def test_a_value_inside_itself(self, project):
        loop: list[object] = []
        loop.append(loop)
        with pytest.raises(ConfigError, match="nested too deeply"):
            self.parse(project, vars={"A": loop})
