# SPDX-License-Identifier: Apache-2.0
"""What jescope push sends to profile stores and to Prometheus, judged by receivers that enforce their published limits."""

import base64
import gzip
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

import pytest
from profiles import Pprof
from services import free_port, started, wait_for
from test_push import DEADLINE, DUMPS, JESCOPE, counts, push, receiver  # noqa: F401

VALUES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]

# https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto and types.proto, what remote write 1.0 uses of them
WRITE_REQUEST = """syntax = "proto3";
package prometheus;
message WriteRequest { repeated TimeSeries timeseries = 1; }
message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
message Label { string name = 1; string value = 2; }
message Sample { double value = 1; int64 timestamp = 2; }
"""


def need(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed; run scripts/install-deps test")
    return program


def check_profile(data, samples, size, depth):
    """pprof's CheckValid, Parca's validator (pkg/profile/validate), and the limits of the store."""
    assert len(gzip.decompress(data)) <= size
    found = Pprof(data)
    assert found.strings[0] == "" and len(set(found.strings)) == len(found.strings)
    assert [name for name, _ in found.sample_types] in (VALUES, VALUES[2:])
    assert found.period_type == ("space", "bytes") and found.period > 0 and found.default_sample_type == "inuse_space"
    assert 0 < len(found.samples) <= samples
    for table in (found.mappings, found.locations, found.functions):
        assert [row[1] for row in table] == list(range(1, len(table) + 1))
    for function in found.functions:
        assert all(function.get(number, 0) < len(found.strings) for number in (2, 3, 4)) and found.strings[function[2]]
    for mapping in found.mappings:
        assert re.fullmatch("[0-9a-f]*", found.strings[mapping.get(6, 0)])
    for location in found.locations:
        assert location["lines"] and all(1 <= line[1] <= len(found.functions) for line in location["lines"])
        if 2 in location:
            assert location.get(3, 0) < found.mappings[location[2] - 1][3]
    for sample in found.samples:
        assert len(sample["values"]) == len(found.sample_types)
        assert 0 < sum(len(found.locations[index - 1]["lines"]) for index in sample["locations"]) <= depth
    return found


def check_labels(labels, most=30, longest=2048):
    names = [label["name"] for label in labels]
    assert names == sorted(set(names)) and len(names) <= most
    assert all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name in names)
    assert all(0 < len(label["value"].encode()) <= longest for label in labels)
    return {label["name"]: label["value"] for label in labels}


# https://github.com/grafana/pyroscope/blob/main/api/push/v1/push.proto, https://github.com/parca-dev/parca/blob/main/proto/parca/profilestore/v1alpha1/profilestore.proto
# and https://github.com/google/pprof/blob/main/proto/profile.proto: the messages of requests, with all fields that their JSON can have
STORES = """syntax = "proto3";
package stores;
message PushRequest { repeated PushSeries series = 1; }
message PushSeries { repeated Label labels = 1; repeated PushSample samples = 2; }
message PushSample { bytes raw_profile = 1; string ID = 2; }
message WriteRawRequest { string tenant = 1; repeated RawProfileSeries series = 2; bool normalized = 3; }
message RawProfileSeries { LabelSet labels = 1; repeated RawSample samples = 2; }
message LabelSet { repeated Label labels = 1; }
message RawSample { bytes raw_profile = 1; }
message Label { string name = 1; string value = 2; }
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9;
  int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14; }
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated SampleLabel label = 3; }
message SampleLabel { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
  bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Line { uint64 function_id = 1; int64 line = 2; int64 column = 3; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
"""


def protoc(*words, **options):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "stores.proto").write_text(STORES)
        return subprocess.run([need("protoc"), *words, "stores.proto"], cwd=folder, capture_output=True, check=True, timeout=DEADLINE, **options).stdout


def text_format(document):
    """Of a message in JSON: names in lowerCamelCase are those of fields with underscores. Bytes of a profile are left out."""
    lines = []
    for name, value in document.items():
        field = name if name.isupper() else re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict):
                lines.append(f"{field} {{ {text_format(one)} }}")
            else:
                lines.append(f"{field}: " + ('"x"' if field == "raw_profile" else json.dumps(one, ensure_ascii=False)))
    return "\n".join(lines)


def check_definitions(kind, document, profile):
    """protoc knows every field of the request and of the profile in it, and their types."""
    protoc(f"--encode=stores.{kind}", input=text_format(document).encode())
    decoded = protoc("--decode=stores.Profile", input=gzip.decompress(profile)).decode()
    assert not re.search(r"^\s*\d+[: ]", decoded, re.M)


def pyroscope(request):
    """One profile of one series by PusherService/Push, within the defaults of Pyroscope's limits."""
    assert request.path == "/push.v1.PusherService/Push" and request.headers["Content-Type"] == "application/json"
    [series] = json.loads(request.body)["series"]
    labels = check_labels(series["labels"])
    [sample] = series["samples"]
    assert labels["__name__"] == "memory" and labels["service_name"]
    assert re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", sample["ID"])
    check_definitions("PushRequest", json.loads(request.body), base64.b64decode(sample["rawProfile"]))
    found = check_profile(base64.b64decode(sample["rawProfile"]), 16000, 4 << 20, 1000)
    assert -600 < time.time() - found.time_nanos / 1e9 < 3600
    return labels, found


def parca(request):
    """A WriteRawRequest."""
    assert request.path == "/profiles/writeraw"
    document = json.loads(request.body)
    assert set(document) == {"series", "normalized"} and document["normalized"] is True
    [series] = document["series"]
    assert set(series) == {"labels", "samples"} and set(series["labels"]) == {"labels"}
    labels = check_labels(series["labels"]["labels"], most=64)
    [sample] = series["samples"]
    assert labels["__name__"] == "memory" and labels["job"]
    check_definitions("WriteRawRequest", document, base64.b64decode(sample["rawProfile"]))
    return labels, check_profile(base64.b64decode(sample["rawProfile"]), 16000, 4 << 20, 1000)


def checked(check, found):
    """A receiver's check: keeps what `check` finds, and refuses what it does not accept."""
    def answer(request):
        try:
            found.append(check(request))
        except (AssertionError, KeyError, ValueError, subprocess.CalledProcessError) as error:
            found.append(error)
            return 400, {"body": str(error)}
        return 200, {}
    return answer


@pytest.fixture(params=[("pyroscope", pyroscope, "service_name"), ("parca", parca, "job")], ids=lambda param: param[0])
def store(request, receiver):  # noqa: F811
    name, check, service = request.param
    found = []
    one = receiver(check=checked(check, found))
    return f"{name}+http://127.0.0.1:{one.port}", found, service, one


def dump_with(path, stacks, depth=3, size=4096):
    """A dump of now with so many different stacks, the deeper ones first."""
    lines = ["heap_v2/1", f"  t*: {stacks}: {stacks * size} [0: 0]"]
    for number in range(stacks):
        frames = [hex(0x400000 + 16 * (number % 65536)), hex(0x600000 + 16 * (number // 65536)),
                  *(hex(0x800000 + 16 * level) for level in range(depth))]
        lines += ["@ " + " ".join(frames), f"  t*: 1: {size + stacks - number} [0: 0]"]
    path.write_text("\n".join([*lines, "", "MAPPED_LIBRARIES:", "00400000-01000000 r-xp 00000000 08:01 1 /bin/prog", ""]))
    return path


def test_profile(push, store, tmp_path):  # noqa: F811
    url, found, service, one = store
    push(url, "--service=shop", "--host=web1", "--label=zone=b", "--label=__reserved=x", dumps=[dump_with(tmp_path / "a.heap", 10)])
    labels, profile = found[0]
    assert labels == {"__name__": "memory", service: "shop", "host": "web1", "instance": "web1:0", "zone": "b", "label__reserved": "x"}
    assert len(profile.samples) == 10 and profile.period == 1
    assert sum(sample["values"][-1] for sample in profile.samples) == sum(4096 + 10 - number for number in range(10))
    assert len(one.requests) == 1


def test_a_profile_of_jescope_is_named(push, store, start):  # noqa: F811
    """Functions are named here, with the build ids of their files; of a process that lives the time is now."""
    url, found, _, _ = store
    victim = start(conf="prof:true,prof_active:true,lg_prof_sample:0")
    push(url, dumps=[victim.pid])
    labels, profile = found[0]
    assert labels["instance"].endswith(f":{victim.pid}")
    names = {profile.strings[function[2]] for function in profile.functions}
    assert "main" in names
    assert any(len(profile.strings[mapping.get(6, 0)]) >= 16 for mapping in profile.mappings)


def test_what_exceeds_the_limits_is_added_up(push, store, tmp_path):  # noqa: F811
    """Stacks beyond the number, frames beyond the depth: nothing is lost, and what was folded is counted."""
    url, found, _, _ = store
    size = 17000
    push(url, dumps=[dump_with(tmp_path / "a.heap", size), dump_with(tmp_path / "b.heap", 5, depth=1500)])
    (_, wide), (_, deep) = found
    assert sum(sample["values"][-1] for sample in wide.samples) == sum(4096 + size - number for number in range(size))
    others = [sample for sample in wide.samples
              if [wide.strings[wide.functions[line[1] - 1][2]] for line in wide.locations[sample["locations"][0] - 1]["lines"]] == ["[other stacks]"]]
    assert len(others) == 1
    folded = size - len(wide.samples) + 1
    assert f"{folded} stacks are added up in [other stacks]" in wide.comments
    assert "5 stacks end at [outer frames]" in deep.comments and len(deep.samples) == 5


def test_hostile_labels(push, store, tmp_path):  # noqa: F811
    """Quotes, control characters, names that are taken, too many and too long ones: valid JSON within the rules."""
    url, found, service, _ = store
    words = [f"--label=l{number}=x" for number in range(80)]
    push(url, '--service=a"},{"b\\', '--label=q="},{\x1b[31m\n', f"--label={service}=forged", f"--label=long={'x' * 5000}", *words,
         dumps=[dump_with(tmp_path / "a.heap", 2)])
    labels, profile = found[0]
    assert labels[service] == 'a"},{"b\\' and "long" not in labels
    assert "\x1b" not in labels["q"] and "\n" not in labels["q"]
    left = 80 + 3 - (len(labels) - 4)
    assert [comment for comment in profile.comments if comment.startswith(f"{left} labels are left out")]


def test_old_dumps_are_refused(push, receiver):  # noqa: F811
    """Pyroscope takes nothing older than an hour: it is counted, and nothing is sent."""
    one = receiver()
    done = push(f"pyroscope+http://127.0.0.1:{one.port}", dumps=[old_dump(push)], status=3)
    assert "minutes old" in done.stderr and not one.requests
    assert counts(push.queue)["refused"] == 1


def old_dump(push):  # noqa: F811
    path = push.queue.parent / "old.heap"
    dump_with(path, 1)
    subprocess.run(["touch", "-d", "2 hours ago", path], check=True)
    return path


def test_tenant(push, receiver, tmp_path):  # noqa: F811
    one = receiver()
    push(f"pyroscope+http://127.0.0.1:{one.port}/prefix?tenant=team%20a", dumps=[dump_with(tmp_path / "a.heap", 1)])
    [request] = one.requests
    assert request.headers["X-Scope-OrgID"] == "team a" and request.path == "/prefix/push.v1.PusherService/Push"
    failed = push(f"pyroscope+http://127.0.0.1:{one.port}?tenant=a%0d%0aX:%20y", status=2)
    assert "control characters" in failed.stderr


# ---- remote write ----


def unsnap(block):
    """A block of snappy (https://github.com/google/snappy/blob/main/format_description.txt)."""
    size = shift = at = 0
    while True:
        size |= (block[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if block[at - 1] < 128:
            break
    out = bytearray()
    while at < len(block):
        tag, kind = block[at], block[at] & 3
        at += 1
        if kind == 0:
            length, extra = (tag >> 2) + 1, max(0, (tag >> 2) - 59)
            length = int.from_bytes(block[at:at + extra], "little") + 1 if extra else length
            at += extra
            out += block[at:at + length]
            at += length
            continue
        length = (tag >> 2 & 7) + 4 if kind == 1 else (tag >> 2) + 1
        extra = {1: 1, 2: 2, 3: 4}[kind]
        offset = int.from_bytes(block[at:at + extra], "little") | (tag >> 5 << 8 if kind == 1 else 0)
        at += extra
        for _ in range(length):
            out.append(out[-offset])
    assert len(out) == size
    return bytes(out)


def series_of(request, folder):
    """{labels: [(value, milliseconds)]}, decoded by protoc and checked by the rules of remote write 1.0."""
    assert request.headers["Content-Type"] == "application/x-protobuf" and request.headers["Content-Encoding"] == "snappy"
    assert request.headers["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    (folder / "write.proto").write_text(WRITE_REQUEST)
    text = subprocess.run([need("protoc"), "--decode=prometheus.WriteRequest", "write.proto"], cwd=folder, input=unsnap(request.body),
                          capture_output=True, check=True, timeout=DEADLINE).stdout.decode()
    found = {}
    for block in re.findall(r"^timeseries \{\n(.*?)^\}", text, re.M | re.S):
        labels = re.findall(r'name: "(.*)"\n\s*value: "(.*)"', block)
        assert [name for name, _ in labels] == sorted({name for name, _ in labels})
        samples = re.findall(r"samples \{\n(?:\s*value: (.*)\n)?\s*timestamp: (\d+)", block)
        found.setdefault(tuple(labels), []).extend((float(value or 0), int(stamp)) for value, stamp in samples)
        assert len(re.findall(r"^\s*\d+:", block, re.M)) == 0
    return found


def test_remote_write(push, receiver, start, tmp_path):  # noqa: F811
    """Statistics, ledger and totals of a process; several batches in one request, in the order of their times."""
    one = receiver()
    victim = start()
    push(f"prometheus+http://127.0.0.1:{one.port}", "--service=shop", "--label=Zone=b", "--label=line=x", dumps=[victim.pid, victim.pid])
    [request] = one.requests
    assert request.path == "/api/v1/write"
    found = {(labels["__name__"], labels.get("line"), labels.get("value")): (labels, samples)
             for labels, samples in ((dict(key), samples) for key, samples in series_of(request, tmp_path).items())}
    labels, samples = found["jemalloc_allocated_bytes", "x", None]
    assert labels == {"__name__": "jemalloc_allocated_bytes", "Zone": "b", "line": "x", "job": "shop", "host": labels["host"],
                      "instance": f"{labels['host']}:{victim.pid}", "user": pwd.getpwuid(os.getuid()).pw_name, **({"unit": labels["unit"]} if "unit" in labels else {}),
                      **({"container": labels["container"]} if "container" in labels else {})}
    assert len(samples) == 2 and samples[0][0] > 0 and samples[0][1] <= samples[1][1]
    assert abs(samples[1][1] / 1000 - time.time()) < DEADLINE
    assert found["jescope_ledger_bytes", "text", None][1][0][0] > 0
    assert ("jescope_profile_error", "x", "inuse_space") in found


def test_a_real_prometheus(push, start, tmp_path):  # noqa: F811
    """Debian's, which has a receiver of remote write."""
    port = free_port()
    (tmp_path / "prometheus.yml").write_text("global: {}\n")
    command = [need("prometheus"), f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
               f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", "--log.level=warn"]
    victim = start()

    def ask(expression):
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=DEADLINE) as answer:
            return json.load(answer)["data"]["result"]

    def is_ready():
        try:
            return ask("1") is not None
        except OSError:
            return False

    with open(tmp_path / "log", "w") as log, started(command, stdout=log, stderr=log, cwd=tmp_path) as process:
        wait_for(lambda: process.poll() is not None or is_ready(), f"prometheus answers: {tmp_path}/log")
        assert process.poll() is None, (tmp_path / "log").read_text()
        push(f"prometheus+http://127.0.0.1:{port}", "--service=shop", "--host=web1", dumps=[victim.pid])
        [row] = ask('jemalloc_allocated_bytes{job="shop"}')
        assert row["metric"]["instance"] == f"web1:{victim.pid}" and float(row["value"][1]) > 0
        assert ask('sum(jescope_ledger_bytes{job="shop",line="text"}) > 0')
        assert counts(push.queue) == {"sent": 1, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 0}


# https://github.com/open-telemetry/opentelemetry-proto, release 1.11: messages and field numbers that jescope uses. Any other field is a
# number in what protoc prints, which the tests refuse.
OTLP = """syntax = "proto3";
package otlp;
message AnyValue { oneof value { string string_value = 1; int64 int_value = 3; } }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; }
message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Metric { string name = 1; oneof data { Gauge gauge = 5; Sum sum = 7; } }
message Gauge { repeated Point data_points = 1; }
message Sum { repeated Point data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Point { fixed64 time_unix_nano = 3; oneof value { double as_double = 4; sfixed64 as_int = 6; } repeated KeyValue attributes = 7; }
message ProfilesRequest { repeated ResourceProfiles resource_profiles = 1; Dictionary dictionary = 2; }
message ResourceProfiles { Resource resource = 1; repeated ScopeProfiles scope_profiles = 2; }
message ScopeProfiles { Scope scope = 1; repeated Profile profiles = 2; }
message Profile { ValueType sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3; ValueType period_type = 5; int64 period = 6; bytes profile_id = 7; }
message ValueType { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample { int32 stack_index = 1; repeated int64 values = 4; }
message Dictionary { repeated Mapping mapping_table = 1; repeated Location location_table = 2; repeated Function function_table = 3;
  repeated Link link_table = 4; repeated string string_table = 5; repeated KeyValueAndUnit attribute_table = 6; repeated Stack stack_table = 7; }
message Mapping { int32 filename_strindex = 4; repeated int32 attribute_indices = 5; }
message Location { int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3; }
message Line { int32 function_index = 1; int64 line = 2; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3; }
message Link { bytes trace_id = 1; }
message KeyValueAndUnit { int32 key_strindex = 1; AnyValue value = 2; }
message Stack { repeated int32 location_indices = 1; }
"""


def parse_text(text):
    """protoc's text as {field: [values or messages]}."""
    stack = [{}]
    for line in text.splitlines():
        if line.endswith("{"):
            inner = {}
            stack[-1].setdefault(line.split()[0], []).append(inner)
            stack.append(inner)
        elif line.strip() == "}":
            stack.pop()
        else:
            name, value = line.strip().split(": ", 1)
            assert not name.isdigit(), f"a field that the definitions do not have: {line}"
            stack[-1].setdefault(name, []).append(value.strip('"') if value.startswith('"') else value)
    return stack[0]


def otlp_of(request, kind, folder):
    assert request.headers["Content-Type"] == "application/x-protobuf" and request.headers["Content-Encoding"] == "gzip"
    (folder / "otlp.proto").write_text(OTLP)
    text = subprocess.run([need("protoc"), f"--decode=otlp.{kind}", "otlp.proto"], cwd=folder, input=gzip.decompress(request.body),
                          capture_output=True, check=True, timeout=DEADLINE).stdout.decode()
    return parse_text(text)


def attributes_of(message):
    return {row["key"][0]: row["value"][0].get("string_value", row["value"][0].get("int_value"))[0] for row in message.get("attributes", [])}


def test_otlp_metrics(push, receiver, start, tmp_path):  # noqa: F811
    """The numbers of /metrics under their names, as gauges and sums, of a resource with the conventional attributes."""
    one = receiver()
    victim = start()
    push(f"otlp+http://127.0.0.1:{one.port}/base", "--service=shop", "--host=web1", "--label=zone=b", dumps=[victim.pid])
    [request] = one.requests
    assert request.path == "/base/v1/metrics"
    [of_resource] = otlp_of(request, "MetricsRequest", tmp_path)["resource_metrics"]
    found = attributes_of(of_resource["resource"][0])
    assert {name: found[name] for name in ("service.name", "host.name", "service.instance.id", "process.pid", "zone")} == {
        "service.name": "shop", "host.name": "web1", "service.instance.id": f"web1:{victim.pid}", "process.pid": str(victim.pid), "zone": "b"}
    points = {}
    for metric in of_resource["scope_metrics"][0]["metrics"]:
        [data] = metric.get("gauge") or metric["sum"]
        assert "gauge" in metric or (data["aggregation_temporality"], data["is_monotonic"]) == (["2"], ["true"])
        [point] = data["data_points"]
        assert abs(int(point["time_unix_nano"][0]) / 1e9 - time.time()) < DEADLINE
        points[metric["name"][0], *attributes_of(point).values()] = float(point["as_double"][0])
    assert points["jemalloc_allocated_bytes",] > 0 and points["jescope_ledger_bytes", "text"] > 0
    assert ("jescope_profile_error", "inuse_space") in points


def test_otlp_profiles(push, receiver, tmp_path):  # noqa: F811
    """One Profile for each of the four names, whose samples add up to the totals; every index is in its table, whose element 0 is empty."""
    one = receiver()
    push(f"otlp+http://127.0.0.1:{one.port}?profiles=yes", dumps=[DUMPS / "5.3.0-accum.heap.gz"])
    assert [request.path for request in one.requests] == ["/v1/metrics", "/v1development/profiles"]
    found = otlp_of(one.requests[1], "ProfilesRequest", tmp_path)
    [dictionary] = found["dictionary"]
    strings = dictionary["string_table"]
    tables = {name: dictionary[f"{name}_table"] for name in ("mapping", "location", "function", "link", "attribute", "stack")}
    assert strings[0] == "" and len(set(strings)) == len(strings) and all(rows[0] == {} for rows in tables.values())

    def check(row, field, table):
        assert all(0 <= int(index) < len(table) for index in row.get(field, []))

    for location in tables["location"]:
        check(location, "mapping_index", tables["mapping"])
        for line in location.get("lines", []):
            check(line, "function_index", tables["function"])
    for stack in tables["stack"][1:]:
        check(stack, "location_indices", tables["location"])
        assert stack["location_indices"]
    for function in tables["function"][1:]:
        check(function, "name_strindex", strings)
        assert strings[int(function["name_strindex"][0])]
    for mapping in tables["mapping"]:
        check(mapping, "attribute_indices", tables["attribute"])
    profiles = found["resource_profiles"][0]["scope_profiles"][0]["profiles"]
    assert sorted(strings[int(profile["sample_type"][0]["type_strindex"][0])] for profile in profiles) == VALUES
    assert len({profile["profile_id"][0] for profile in profiles}) == 4
    done = subprocess.run([JESCOPE, "report", "--json", DUMPS / "5.3.0-accum.heap.gz"], capture_output=True, check=True, timeout=DEADLINE)
    totals = json.loads(done.stdout)["source"]["total"]
    for profile in profiles:
        name = strings[int(profile["sample_type"][0]["type_strindex"][0])]
        for sample in profile["samples"]:
            check(sample, "stack_index", tables["stack"])
        total = sum(int(sample["values"][0]) for sample in profile["samples"])
        assert abs(total - totals[name]["estimate"]) <= len(tables["stack"]), name


def test_otlp_partial_success(push, receiver):  # noqa: F811
    """What a collector says it has not taken is counted as refused."""
    one = receiver()
    one.answers = [(200, {"body": "\x0a\x08\x08\x03\x12\x04full"})]
    done = push(f"otlp+http://127.0.0.1:{one.port}", status=3)
    assert "did not accept 3 of them" in done.stderr
    assert counts(push.queue)["refused"] == 1
    assert "neither yes nor no" in push(f"otlp+http://127.0.0.1:{one.port}?profiles=1", status=2).stderr


def test_a_real_victoria_metrics(push, start, tmp_path):  # noqa: F811
    """Debian's, by the same remote write."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [need("victoria-metrics"), f"-storageDataPath={tmp_path}/data", f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=1"]
    victim = start()

    def ask(path):
        try:
            with urllib.request.urlopen(url + path, timeout=DEADLINE) as answer:
                return answer.read().decode()
        except OSError:
            return ""

    with open(tmp_path / "log", "w") as log, started(command, stdout=log, stderr=log, cwd=tmp_path) as process:
        wait_for(lambda: process.poll() is not None or ask("/health") == "OK", "victoria-metrics answers")
        assert process.poll() is None, (tmp_path / "log").read_text()
        push(f"prometheus+{url}", "--service=shop", "--host=web1", dumps=[victim.pid])

        def exported():
            ask("/internal/force_flush")
            return ask("/api/v1/export?" + urllib.parse.urlencode({"match[]": 'jemalloc_allocated_bytes{job="shop"}'}))

        row = json.loads(wait_for(exported, "the series"))
        assert row["metric"]["instance"] == f"web1:{victim.pid}" and row["values"][0] > 0
        assert counts(push.queue) == {"sent": 1, "dropped": 0, "refused": 0, "damaged": 0, "waiting": 0}
