# SPDX-License-Identifier: Apache-2.0
"""The project's own scripts: their messages on a machine that lacks something, and that the checks can fail."""

import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, **options)


def only(tmp_path, *names):
    """A PATH that holds these programs and nothing else."""
    for name in names:
        (tmp_path / name).symlink_to(shutil.which(name))
    return {"PATH": str(tmp_path)}


def test_install_deps_elsewhere_lists_the_needs_and_fails(tmp_path):
    env = only(tmp_path, "bash", "sed", "cat", "env")
    result = run("bash", str(SOURCE / "scripts/install-deps"), "build", env=env)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "not Debian or Ubuntu" in result.stderr
    assert "libglib2.0-dev: GLib" in result.stderr
    assert "redis-tools" not in result.stderr


def test_install_deps_without_root_or_sudo_says_the_command(tmp_path):
    env = only(tmp_path, "bash", "sed", "cat", "env")
    for name, body in {"dpkg-query": "exit 1", "apt-get": "exit 99", "id": "echo 1000"}.items():
        (tmp_path / name).write_text(f"#!{shutil.which('bash')}\n{body}\n")
        (tmp_path / name).chmod(0o755)
    result = run("bash", str(SOURCE / "scripts/install-deps"), "demo", env=env)
    assert result.returncode == 1
    assert "needs redis-tools: " in result.stdout
    assert "run this as root: apt-get install --no-install-recommends libjemalloc2 redis-tools python3" in result.stderr


def test_install_deps_does_nothing_when_all_is_there(tmp_path):
    env = only(tmp_path, "bash", "sed", "cat", "env")
    for name, body in {"dpkg-query": "printf installed", "apt-get": "exit 99", "npm": "exit 99"}.items():
        (tmp_path / name).write_text(f"#!{shutil.which('bash')}\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "scripts").mkdir()
    shutil.copy(SOURCE / "scripts/install-deps", tmp_path / "scripts")
    for place in ("package-lock.json", "node_modules/.installed"):
        (tmp_path / "tests/browser" / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / "tests/browser/package-lock.json", tmp_path / "tests/browser" / place)
    result = run("bash", str(tmp_path / "scripts/install-deps"), "build", "test", env=env)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_install_deps_refuses_an_unknown_set():
    result = run(str(SOURCE / "scripts/install-deps"), "everything")
    assert result.returncode == 2
    assert "unknown set 'everything'" in result.stderr


def tree(tmp_path, files):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "architecture.md").write_text("".join(f"`src/{room}/` " for room in ("wire", "agent", "cli")))
    for room in ("wire", "agent", "cli"):
        (tmp_path / "src" / room).mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "src" / name).write_text(text)
    return run(str(SOURCE / "scripts/check-layers"), str(tmp_path))


def test_check_layers_accepts_what_is_in_order(tmp_path):
    result = tree(tmp_path, {"cli/main.c": '#include "wire/wire.h"\nint main(void) { puts("exit(1)"); }\n'})
    assert (result.returncode, result.stdout) == (0, "layers: in order\n")


def test_check_layers_names_each_offence(tmp_path):
    result = tree(tmp_path, {
        "wire/wire.c": '#include "cli/main.h"\n',
        "agent/agent.c": '/* exit(1) */\n#include <glib.h>\n\nvoid f(void) { exit(1); }\n',
        "cli/dwarf.c": "#include <elfutils/libdw.h>\n",
    })
    assert result.returncode == 1
    assert result.stdout.splitlines() == [
        "src/agent/agent.c:2: room agent uses libc only",
        "src/agent/agent.c:4: printing or exiting belongs in cli alone",
        "src/cli/dwarf.c:1: libdw belongs in symbolize alone",
        "src/wire/wire.c:1: room wire may not use cli",
    ]


def test_check_layers_wants_the_picture_to_match(tmp_path):
    (tmp_path / "src" / "http").mkdir(parents=True)
    result = tree(tmp_path, {})
    assert result.returncode == 1
    assert result.stdout == "docs/architecture.md: room http is missing\n"


def files_with(word):
    """The files with the test that docs/testing.md calls WORD."""
    if word.startswith("golden: "):
        yield SOURCE / f"tests/golden/cases/{word[8:]}.case"
    elif word.startswith("/"):
        yield from (path for path in (SOURCE / "tests/unit").glob("*/test-*.c") if f'"{word}"' in path.read_text())
    else:
        yield from (path for path in (SOURCE / "tests/live").glob("test_*.py") if f"def {word}(" in path.read_text())


def test_statements_that_were_false_have_their_tests():
    rows = re.findall(r"^\| (F\d+) \| .* \| (.*) \|$", (SOURCE / "docs/testing.md").read_text(), re.M)
    assert [number for number, _ in rows] == [f"F{number}" for number in range(1, 20)]
    for number, tests in rows:
        for word in re.findall(r"`([^`]+)`", tests):
            assert any(re.search(rf"\b{number}\b", path.read_text()) for path in files_with(word)), (number, word)


def test_the_demo_s_redis_has_no_port():
    """It asks its clients for no password, and the demo may be root's."""
    text = (SOURCE / "scripts/demo").read_text()
    assert "--port 0 --unixsocket" in text and not re.search(r"redis-\S+ -p ", text)
