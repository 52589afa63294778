"""Which workers can share a process as they are, and what a worker's folder gives."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from pyflare.workers.crossing import call_in, entered
from pyflare.workers.current import WorkerScope
from pyflare.workers.isolation import Isolation, IsolationError, Space
from pyflare.workers.private_names import module_files


def test_one_worker_needs_no_swapping(workers: Any) -> None:
    workers.start("a", {"entry.py": "import utils", "utils.py": ""})

    assert not workers.isolation.swapping


def test_workers_without_a_common_name_need_no_swapping(workers: Any) -> None:
    a = workers.make("a", {"entry_a.py": "import utils_a", "utils_a.py": "OWNER = 'a'"})
    b = workers.make("b", {"entry_b.py": "import utils_b", "utils_b.py": "OWNER = 'b'"})
    workers.isolation.add(a.space, b.space)

    mains = [workers.load(a, "entry_a"), workers.load(b, "entry_b")]

    assert not workers.isolation.swapping
    assert [sys.modules[main.__name__] for main in mains] == mains


def test_workers_with_a_common_name_need_swapping(workers: Any) -> None:
    a, b = workers.make("a", {"utils.py": ""}), workers.make("b", {"utils.py": ""})

    assert workers.isolation.needs_swapping([a.space, b.space])
    assert workers.isolation.clashes([a.space, b.space]) == {
        "utils": [str(a.space.root), str(b.space.root)]
    }


def test_folders_without_modules_are_no_names_in_common(workers: Any) -> None:
    files = {"migrations/0001.sql": "", "templates/page.html": "", "node_modules/x/y.py": ""}
    a, b = workers.make("a", {"a.py": "", **files}), workers.make("b", {"b.py": "", **files})

    assert not workers.isolation.needs_swapping([a.space, b.space])


def test_two_workers_with_one_folder_get_their_own_copies(workers: Any, tmp_path: Path) -> None:
    root = workers.write("shared", {"entry.py": "values = []"})
    scopes = [WorkerScope(name, Space(root)) for name in ("a", "b")]
    workers.scopes += scopes
    workers.isolation.add(*(scope.space for scope in scopes))

    first, second = (scope.space.import_main("entry") for scope in scopes)

    assert first.values is not second.values


def test_a_clash_on_a_loop_that_cannot_switch_is_refused_with_the_names(workers: Any) -> None:
    a, b = workers.make("a", {"utils.py": ""}), workers.make("b", {"utils.py": ""})

    with pytest.raises(IsolationError) as caught:
        workers.isolation.add(a.space, b.space, can_swap=False)

    assert f"  utils: {a.space.root}, {b.space.root}" in str(caught.value)
    assert workers.isolation.spaces == []


def test_one_folder_twice_on_a_loop_that_cannot_switch_is_called_that(workers: Any) -> None:
    root = workers.write("shared", {"entry.py": "", "utils.py": ""})
    scope = WorkerScope("a", Space(root))
    workers.scopes.append(scope)
    workers.isolation.add(scope.space, can_swap=False)

    with pytest.raises(IsolationError, match="modules of one Worker are to be loaded twice") as got:
        workers.isolation.add(Space(root), can_swap=False)

    assert str(got.value).count(str(root)) == 1
    assert "pyflare_shared" in str(got.value)


def test_a_name_that_is_also_an_installed_package_needs_swapping(workers: Any) -> None:
    a, b = workers.make("a", {"packaging.py": ""}), workers.make("b", {"entry.py": ""})

    assert workers.isolation.needs_swapping([a.space, b.space])


def test_a_bare_folder_on_the_search_path_is_no_installed_package(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "host" / "parts").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "host")
    a, b = workers.make("a", {"parts.py": ""}), workers.make("b", {"entry.py": ""})

    assert not workers.isolation.needs_swapping([a.space, b.space])


def test_a_workers_own_file_comes_before_an_installed_package_for_that_worker_only(
    workers: Any,
) -> None:
    entry = {"entry.py": "import packaging\n"}
    a = workers.start("a", {**entry, "packaging.py": ""})
    b = workers.start("b", entry)

    assert Path(a.data["main"].packaging.__file__).parent == a.space.root
    assert "packages" in b.data["main"].packaging.__file__


def test_a_folder_without_init_gives_way_to_an_installed_package(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import packaging", "packaging/readme.txt": ""})

    assert "packages" in a.data["main"].packaging.__file__


def test_a_folder_without_init_is_a_namespace_package_of_the_worker(workers: Any) -> None:
    files = {"entry.py": "from parts import one", "parts/one.py": ""}
    a, b = workers.start("a", files), workers.start("b", files)

    files_of = [Path(scope.data["main"].one.__file__) for scope in (a, b)]
    assert files_of == [scope.space.root / "parts" / "one.py" for scope in (a, b)]


def test_a_worker_cannot_import_a_file_that_only_another_worker_has(workers: Any) -> None:
    workers.start("a", {"entry.py": "", "only_here.py": ""})
    b = workers.make("b", {"entry.py": "import only_here"})

    with pytest.raises(ModuleNotFoundError, match="No module named 'only_here'"):
        workers.load(b)


def test_nor_where_the_workers_have_no_name_in_common(workers: Any) -> None:
    a = workers.make("a", {"one.py": "", "only_here.py": ""})
    b = workers.make("b", {"two.py": "import only_here"})
    workers.isolation.add(a.space, b.space)

    with pytest.raises(ModuleNotFoundError, match="No module named 'only_here'"):
        workers.load(b, "two")
    assert not workers.isolation.swapping


def test_code_without_a_context_finds_the_files_of_a_worker_that_is_alone(workers: Any) -> None:
    entry = """
        class Resource:
            def __del__(self):
                import late
                owners.append(late.OWNER)

        owners = []
        """
    a = workers.start("a", {"entry.py": entry, "late.py": "OWNER = 'a'"})

    a.data["main"].Resource()

    assert a.data["main"].owners == ["a"]


def test_the_hosts_packages_come_before_a_workers_files_for_the_host(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = workers.write("packages", {"in_both.py": ""})
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    workers.start("a", {"entry.py": "", "in_both.py": ""})

    found = importlib.import_module("in_both")

    del sys.modules["in_both"]
    assert found.__file__ == str(packages / "in_both.py")


def test_a_file_added_after_the_start_is_found(workers: Any) -> None:
    files = {"entry.py": "def late():\n    import added\n    return added.OWNER\n"}
    a, b = workers.start("a", files), workers.start("b", files)
    for scope in (a, b):
        workers.write(scope.name, {"added.py": f"OWNER = {scope.name!r}"})

    assert [workers.call(scope, "late") for scope in (a, b)] == ["a", "b"]


def test_a_file_added_to_a_package_after_its_folder_was_read_is_found(workers: Any) -> None:
    files = {
        "entry.py": "import app.one\ndef late():\n    import app.two\n    return app.two.VALUE\n",
        "app/__init__.py": "",
        "app/one.py": "",
    }
    a = workers.start("a", files)
    workers.write("a", {"app/two.py": "VALUE = 2"})

    assert workers.call(a, "late") == 2


def test_a_reload_finds_new_clashes(workers: Any) -> None:
    a, b = workers.make("a", {"one.py": ""}), workers.make("b", {"two.py": ""})
    workers.isolation.add(a.space, b.space)
    b_main = workers.load(b, "two")
    workers.write("a", {"two.py": "", "one.py": "import two"})

    main = a.space.reload("one")

    assert workers.isolation.swapping
    assert main.two is not b_main


def test_a_reload_that_would_clash_is_refused_where_the_loop_cannot_switch(workers: Any) -> None:
    a, b = workers.make("a", {"one.py": ""}), workers.make("b", {"two.py": ""})
    workers.isolation.add(a.space, b.space, can_swap=False)
    main = workers.load(a, "one")
    workers.write("a", {"two.py": ""})

    with pytest.raises(IsolationError, match="two"):
        a.space.reload("one")

    assert sys.modules["one"] is main


def test_the_standard_library_comes_before_a_workers_file(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import calendar", "calendar.py": ""})

    assert a.data["main"].calendar.__file__ != str(a.space.root / "calendar.py")
    assert a.space.warnings() == [
        f"{a.space.root / 'calendar.py'} is never imported: `import calendar` gives the standard "
        "library's module 'calendar', which comes first, also in production. Rename the file."
    ]


def test_pyflares_own_packages_come_first_here_only(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "", "pyflare.py": ""})

    assert a.space.warnings() == [
        f"{a.space.root / 'pyflare.py'} is never imported: `import pyflare` gives pyflare's own package "
        "'pyflare', which comes first here, though not in production. Rename the file."
    ]


def test_a_main_module_hidden_by_the_standard_library_is_refused(workers: Any) -> None:
    a = workers.make("a", {"calendar.py": ""})
    workers.isolation.add(a.space)

    with pytest.raises(ImportError, match=r"calendar\.py is never imported"):
        a.space.import_main("calendar")


def test_a_vendored_module_named_like_the_main_module_is_refused(workers: Any) -> None:
    a = workers.make("a", {"entry.py": "", "python_modules/entry.py": ""})
    workers.isolation.add(a.space)

    with pytest.raises(ImportError, match=r"python_modules/entry\.py clashes with main module"):
        a.space.import_main("entry")


def test_an_import_with_the_src_prefix_gets_a_hint(workers: Any) -> None:
    a = workers.make("a", {"entry.py": "from src.utils import x", "utils.py": ""})

    with pytest.raises(ModuleNotFoundError) as caught:
        workers.load(a)

    assert "leave out the 'src.' prefix" in caught.value.__notes__[0]


def test_a_main_file_name_need_not_be_an_identifier(workers: Any) -> None:
    a = workers.make("a", {"my-worker.py": "VALUE = 1"})

    assert workers.load(a, "my-worker").VALUE == 1


def test_a_space_that_was_not_added_cannot_import(workers: Any) -> None:
    a = workers.make("a", {"entry.py": ""})

    with pytest.raises(IsolationError, match="not in use"):
        a.space.import_main("entry")


def test_no_bytecode_is_written_beside_the_sources(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import app.one", "app/__init__.py": "", "app/one.py": ""})

    assert not list(a.space.root.rglob("__pycache__"))


def test_an_edit_within_the_same_second_is_seen_by_a_reload(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "VALUE = 1"})
    workers.write("a", {"entry.py": "VALUE = 2"})

    assert a.space.reload("entry").VALUE == 2


def test_extra_folders_come_after_the_installed_packages(workers: Any, tmp_path: Path) -> None:
    extra = workers.write("extra", {"packaging.py": "", "vendored.py": ""})
    a = workers.start("a", {"entry.py": "import packaging, vendored"}, extra_path=[extra])

    main = a.data["main"]
    assert "packages" in main.packaging.__file__
    assert main.vendored.__file__ == str(extra / "vendored.py")


def test_extra_folders_of_two_workers_are_kept_apart(workers: Any) -> None:
    scopes = []
    for name in ("a", "b"):
        extra = workers.write(f"extra-{name}", {"vendored.py": f"OWNER = {name!r}"})
        entry = {"entry.py": "def owner():\n    import vendored\n    return vendored.OWNER"}
        scopes.append(workers.start(name, entry, extra_path=[extra]))

    assert [workers.call(scope, "owner") for scope in scopes] == ["a", "b"]


def test_a_vendored_package_that_is_compiled_for_the_runtime_says_what_to_install(
    workers: Any,
) -> None:
    extra = workers.write("extra", {"fast/__init__.py": "from . import _core"})

    with pytest.raises(ImportError) as caught:
        workers.start("a", {"entry.py": "import fast"}, extra_path=[extra])

    (note,) = caught.value.__notes__
    assert note.startswith(f"'fast' was found in {extra} only")
    assert note.endswith("-m pip install fast")


def test_modules_of_the_host_process_are_not_seen_by_a_worker_and_come_back(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = types.ModuleType("app")
    monkeypatch.setitem(sys.modules, "app", hosts)
    a = workers.start("a", {"entry.py": "import app", "app/__init__.py": ""})

    assert a.data["main"].app is not hosts
    assert sys.modules["app"] is hosts
    assert workers.isolation.swapping


def test_the_search_path_has_the_worker_between_standard_library_and_packages(
    workers: Any,
) -> None:
    a = workers.start("a", {"entry.py": "import sys\npath = list(sys.path)"})
    workers.start("b", {"entry.py": ""})

    with entered(a):
        path = list(sys.path)
    here = path.index(str(a.space.root))
    packages = next(i for i, folder in enumerate(path) if folder.endswith("-packages"))
    standard = next(i for i, folder in enumerate(path) if folder.endswith("lib-dynload"))
    assert standard < here < packages


def test_a_second_worker_may_come_while_the_first_runs(workers: Any) -> None:
    entry = {"entry.py": "def owner():\n    import late\n    return late.OWNER\n"}
    a = workers.start("a", {**entry, "late.py": "OWNER = 'a'"})

    def add() -> str:
        b = workers.start("b", {**entry, "late.py": "OWNER = 'b'"})
        return call_in(b.context, b.data["main"].owner)

    with entered(a):
        assert (add(), a.data["main"].owner()) == ("b", "a")


def test_a_worker_whose_folder_changes_does_not_clash_with_its_old_self(workers: Any) -> None:
    old = workers.start("old", {"entry.py": "VALUE = 1"})
    new = workers.make("new", {"entry.py": "VALUE = 2"})

    workers.isolation.replace(old.space, new.space, can_swap=False)

    assert new.space.import_main("entry").VALUE == 2
    assert not workers.isolation.swapping


def test_a_replacement_that_clashes_with_another_worker_changes_nothing(workers: Any) -> None:
    a, b = workers.make("a", {"one.py": ""}), workers.make("b", {"two.py": ""})
    workers.isolation.add(a.space, b.space, can_swap=False)
    new = workers.make("new", {"two.py": ""})

    with pytest.raises(IsolationError, match="two"):
        workers.isolation.replace(a.space, new.space, can_swap=False)

    assert workers.isolation.spaces == [a.space, b.space]


def test_there_is_one_isolation_in_a_process_while_it_has_workers(workers: Any) -> None:
    workers.start("a", {"entry.py": ""})

    assert Isolation.of_process() is workers.isolation


def test_a_private_package_is_copied_for_each_worker(workers: Any, tmp_path: Path) -> None:
    entry = {
        "entry.py": """
            import mypy_extensions

            def mark(value):
                mypy_extensions.mark = value

            def read():
                return getattr(mypy_extensions, "mark", None)
            """
    }
    a = workers.start("a", entry, private_packages=["mypy_extensions"])
    b = workers.start("b", entry, private_packages=["mypy_extensions"])

    workers.call(a, "mark", 1)

    assert workers.call(b, "read") is None


def test_a_private_package_that_no_source_mentions_causes_no_swapping(workers: Any) -> None:
    a, b = workers.make("a", {"one.py": ""}), workers.make("b", {"two.py": ""})

    assert "django" in a.space.private_packages
    assert not workers.isolation.needs_swapping([a.space, b.space])


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("one.py", "one"),
        ("my-worker.py", "my-worker"),
        ("package/__init__.py", "package"),
        ("space/deep/module.py", "space"),
    ],
)
def test_names_that_a_folder_gives(tmp_path: Path, file: str, name: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()

    assert list(module_files(tmp_path)) == [name]


@pytest.mark.parametrize(
    "file", ["page.html", "a.b.py", "__pycache__/x.py", ".hidden/x.py", "not-a-package/x.py"]
)
def test_names_that_a_folder_does_not_give(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()

    assert module_files(tmp_path) == {}


def test_a_virtual_environment_beside_the_sources_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "venv" / "lib").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "venv" / "lib" / "module.py").touch()

    assert module_files(tmp_path) == {}


def test_a_file_named_like_the_emulator_is_never_imported(workers: Any) -> None:
    a = workers.start("a", {"entry.py": "import pyflare", "pyflare.py": ""})

    assert a.data["main"].pyflare is sys.modules["pyflare"]
    assert "pyflare's own package 'pyflare'" in a.space.warnings()[0]
