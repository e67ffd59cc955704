# SPDX-License-Identifier: Apache-2.0
"""The files that `make install` installs, and that they are found: by fish, pkg-config, CMake; the Containerfile."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from services import BUILD, DEADLINE

SOURCE = pathlib.Path(os.environ["JESCOPE_SOURCE"])
PROGRAM = """
#include <jescope.h>
#include <stdio.h>
int main(void) { return puts(jescope_version()) < 0; }
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=DEADLINE, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix():
    options = json.loads(run("meson", "introspect", BUILD, "--buildoptions"))
    return next(option["value"] for option in options if option["name"] == "prefix").lstrip("/")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("installed")
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", env=dict(os.environ, DESTDIR=str(root)))
    return root


def test_everything_is_there(installed, prefix):
    share = installed / prefix / "share"
    for path in ("doc/jescope/README.md", "doc/jescope/doctor.md", "doc/jescope/examples/service.c",
                 "doc/jescope/examples/kubernetes/node.yaml", "jescope/grafana/jescope.json", "jescope/grafana/jescope-fleet.json",
                 "jescope/prometheus/jescope.rules.yml", "man/man1/jescope-ps.1", "bash-completion/completions/jescope"):
        assert (share / path).is_file(), path
    written = {path.name for path in (SOURCE / "docs").glob("*.md")}
    assert written <= {path.name for path in (share / "doc/jescope").iterdir()}


def test_documents_that_messages_name_are_there(installed, prefix):
    """A path in the program is one of what was installed."""
    text = (installed / prefix / "bin/jescope").read_bytes().decode("latin-1")
    named = set(re.findall(rf"/{prefix}/share/doc/jescope/[a-z]+\.md", text))
    assert named
    assert all((installed / path.lstrip("/")).is_file() for path in named)


def test_jemdefs_is_imported_from_where_it_is_installed(installed, tmp_path):
    """As a script of Aerospike's users does, which need not know where it is."""
    (module,) = installed.glob("**/jemdefs.py")
    assert module.parent.name == "dist-packages"
    done = run("/usr/bin/python3", "-c", "from jemdefs import *; import jemdefs; print(jemdefs.__file__)",
               cwd=tmp_path, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(module.parent), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.strip() == str(module)
    inside = "/" + str(module.parent.relative_to(installed))
    assert inside in run("/usr/bin/python3", "-c", "import site; print(*site.getsitepackages(), sep='\\n')").splitlines()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_looks_there(installed, prefix):
    if prefix not in ("usr", "usr/local"):
        pytest.skip("with another prefix it is the user who tells fish where to look")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(installed)}
    looked_at = run("fish", "-c", "printf '%s\\n' $fish_complete_path", env=env).split()
    assert any((installed / path.lstrip("/") / "jescope.fish").is_file() for path in looked_at), looked_at


@pytest.mark.parametrize("name", ["jescope", "libjescope"])
def test_pkg_config(installed, prefix, name, tmp_path):
    libraries = next(installed.rglob("libjescope.pc")).parent
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(installed), PKG_CONFIG_LIBDIR=str(libraries))
    flags = run("pkg-config", "--cflags", "--libs", name, env=env).split()
    (tmp_path / "program.c").write_text(PROGRAM)
    run("cc", "-o", tmp_path / "program", tmp_path / "program.c", *flags)
    assert run(tmp_path / "program", env={"LD_LIBRARY_PATH": str(libraries.parent)}).strip()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize("target", ["jescope::jescope", "jescope::static"])
def test_cmake(installed, prefix, target, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(program C)\nfind_package(jescope 0.1 REQUIRED)\n"
        f"add_executable(program program.c)\ntarget_link_libraries(program PRIVATE {target})\n")
    config = next(installed.rglob("jescope-config.cmake")).parent
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Djescope_DIR={config}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build/program", env={"PATH": "/usr/bin:/bin"}).strip()
    newer = (tmp_path / "CMakeLists.txt").read_text().replace("jescope 0.1", "jescope 99")
    (tmp_path / "CMakeLists.txt").write_text(newer)
    refused = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "newer", f"-Djescope_DIR={config}"],
                             capture_output=True, text=True, timeout=DEADLINE)
    assert refused.returncode != 0 and "0.1.0" in refused.stderr


def test_containerfile():
    """No engine builds it here: its instructions are known, its scripts are there, its packages are ours."""
    text = (SOURCE / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    words = {line.split()[0] for line in lines}
    assert words <= {"FROM", "COPY", "RUN", "WORKDIR", "ENTRYPOINT", "CMD", "ENV"}
    stages = [re.fullmatch(r"FROM (\S+)(?: AS (\w+))?", line) for line in lines if line.startswith("FROM")]
    assert len(stages) == 2 and all(stages) and stages[0].group(2)
    for line in lines:
        if line.startswith("RUN"):
            subprocess.run(["sh", "-n", "-c", line[4:]], check=True, timeout=DEADLINE)
            for script in re.findall(r"\bscripts/[a-z-]+", line):
                assert os.access(SOURCE / script, os.X_OK), script
        if line.startswith("COPY --from="):
            assert line.split()[1] == f"--from={stages[0].group(2)}"
        if line.startswith(("ENTRYPOINT", "CMD")):
            json.loads(line.split(None, 1)[1])
    packages = set(re.findall(r"^Package: (\S+)", (SOURCE / "debian/control").read_text(), re.M))
    assert set(re.findall(r"/([a-z0-9-]+)_\*\.deb", text)) <= packages


def test_every_file_of_the_packages_is_built(installed, prefix):
    """Each line of debian/*.install names something that is installed."""
    if prefix not in ("usr", "usr/local"):
        pytest.skip("with another prefix, paths have other names")
    for listing in (SOURCE / "debian").glob("*.install"):
        for line in listing.read_text().split():
            path = line.replace("usr/", f"{prefix}/", 1) if line.startswith("usr/") else line
            if path.startswith(("etc/jescope", "lib/systemd")):
                path = f"{prefix}/{path}" if prefix == "usr/local" else path
            if "fish" in path and prefix == "usr/local":
                path = "etc/fish"
            if "dist-packages" in path:  # where Python looks, whatever the prefix
                path = "**/jemdefs.py"
            assert list(installed.glob(path)) or "trafficserver" in path, f"{listing.name}: {line}"
