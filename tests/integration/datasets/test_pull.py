"""Downloads from a real server on loopback: whole, cut, resumed, changed, wrong. A file has its name only when it is the right one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sopbench.datasets import pulling
from sopbench.datasets.fetching import FetchError, fetch
from sopbench.datasets.output import DiskFull
from sopbench.datasets.pulling import Transfer, held, pull
from sopbench.datasets.registry import DATA_SETS, Bucket, DataSet, Hub, Remote
from sopbench.errors import DataError, UsageError
from tests.integration.datasets.file_server import FileServer, Served

DATA = random.Random(1).randbytes(700_000)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.delenv("SOPBENCH_OFFLINE")
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with FileServer({"/f": Served(DATA)}) as running:
        yield running


def get(server: FileServer, folder: Path, path: str = "/f", **known: Any) -> Any:
    remote = Remote("f", server.url + path, **known)
    return fetch(remote, folder / "f", patience=5, pause=lambda seconds: None)


def nothing_but(folder: Path, *names: str) -> bool:
    return sorted(path.name for path in folder.iterdir()) == sorted(names)


# -- one file ----------------------------------------------------------------------------------------------------------


def test_a_file_arrives_whole_and_is_compared(server: FileServer, tmp_path: Path) -> None:
    fetched = get(server, tmp_path, size=len(DATA), sha256=SHA256)
    assert (tmp_path / "f").read_bytes() == DATA
    assert (fetched.bytes, fetched.sha256, fetched.verified) == (len(DATA), SHA256, "sha256")
    assert nothing_but(tmp_path, "f")


def test_without_any_hash_the_length_is_compared_and_it_says_so(server: FileServer, tmp_path: Path) -> None:
    assert get(server, tmp_path).verified == "length"


def test_an_empty_file_is_a_file(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].data = b""
    assert get(server, tmp_path, size=0).bytes == 0
    assert (tmp_path / "f").read_bytes() == b""


def test_a_cut_connection_is_resumed_where_it_ended(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].cut_after = [200_000, 100_000]
    get(server, tmp_path, sha256=SHA256)
    assert server.asked == [("/f", None), ("/f", "bytes=200000-"), ("/f", "bytes=300000-")]
    assert server.sent["/f"] == len(DATA)


def test_a_later_call_takes_up_what_an_earlier_one_left(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].cut_after = [300_000]
    server.files["/f"].statuses = []
    server.before = lambda path: server.files["/f"].statuses.extend([503] * 99 if server.counts["/f"] == 2 else [])
    with pytest.raises(FetchError, match=r"503.*300,000 bytes are kept: the same command goes on"):
        get(server, tmp_path)
    assert nothing_but(tmp_path, ".f.part", ".f.part.json")
    server.files["/f"].statuses.clear()
    server.before = lambda path: None
    get(server, tmp_path, sha256=SHA256)
    assert server.asked[-1] == ("/f", "bytes=300000-")
    assert nothing_but(tmp_path, "f")


def test_a_server_that_ignores_range_is_read_from_the_start(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].ranges = False
    server.files["/f"].cut_after = [200_000]
    get(server, tmp_path, sha256=SHA256)
    assert server.asked[-1] == ("/f", "bytes=200000-")
    assert (tmp_path / "f").read_bytes() == DATA


def test_a_file_that_changed_meanwhile_begins_anew(server: FileServer, tmp_path: Path) -> None:
    """Its ETag is another one: the first half of one file and the second of another would have the right length."""
    other = DATA[::-1]
    server.files["/f"].cut_after = [200_000]

    def change(path: str) -> None:
        if server.counts[path] == 2:
            server.files[path].data = other

    server.before = change
    get(server, tmp_path)
    assert (tmp_path / "f").read_bytes() == other


def test_without_an_etag_the_date_will_do_and_without_both_it_begins_anew(server: FileServer, tmp_path: Path) -> None:
    served = server.files["/f"]
    served.etag, served.modified, served.cut_after = None, "Wed, 05 Jun 2024 10:00:00 GMT", [200_000]
    get(server, tmp_path, sha256=SHA256)
    assert server.asked[-1] == ("/f", "bytes=200000-")
    (tmp_path / "f").unlink()
    served.etag, served.modified, served.cut_after = 'W/"weak"', None, [200_000]
    get(server, tmp_path, sha256=SHA256)
    assert server.asked[-1] == ("/f", None)


def test_a_part_that_has_everything_is_only_compared(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".f.part").write_bytes(DATA)
    get(server, tmp_path, size=len(DATA), sha256=SHA256)
    assert server.asked == []


def test_a_part_that_is_longer_than_the_file_begins_anew(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".f.part").write_bytes(DATA + b"x")
    (tmp_path / ".f.part.json").write_text(json.dumps({"url": server.url + "/f", "validator": server.files["/f"].tag}))
    get(server, tmp_path, sha256=SHA256)
    assert server.asked == [("/f", f"bytes={len(DATA) + 1}-"), ("/f", None)]


def test_a_part_of_another_address_begins_anew(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".f.part").write_bytes(b"something else")
    (tmp_path / ".f.part.json").write_text(json.dumps({"url": "http://other/f", "validator": server.files["/f"].tag}))
    get(server, tmp_path, sha256=SHA256)
    assert server.asked == [("/f", None)]


def test_a_wrong_length_is_refused_before_it_is_read(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"the server's file has 700,000 bytes, the published one 700,001"):
        get(server, tmp_path, size=len(DATA) + 1)
    assert not (tmp_path / "f").exists()
    assert server.sent["/f"] < len(DATA)


def test_a_server_that_sends_more_than_it_announced_is_cut_off(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].chunked = True
    with pytest.raises(FetchError, match="700,000 bytes arrived, expected were 600,000"):
        get(server, tmp_path, size=600_000)
    assert nothing_but(tmp_path)


def test_a_server_that_announces_too_much_is_tried_again_and_given_up(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].announced = len(DATA) + 10
    server.files["/f"].ranges = False
    with pytest.raises(FetchError, match=r"the connection (broke|ended).*attempts in a row"):
        get(server, tmp_path)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize("known", ["sha256", "md5", "blob"])
def test_a_wrong_hash_leaves_nothing(server: FileServer, tmp_path: Path, known: str) -> None:
    with pytest.raises(FetchError, match=r"is not the published file.*It was deleted"):
        get(server, tmp_path, **{known: "0" * 40})
    assert nothing_but(tmp_path)


@pytest.mark.parametrize(
    ("headers", "verified"),
    [
        ({"x-goog-hash": "crc32c=AAAAAA==,md5=" + base64.b64encode(hashlib.md5(DATA).digest()).decode()}, "md5"),
        ({"X-Linked-Etag": f'"{SHA256}"', "X-Linked-Size": str(len(DATA))}, "sha256"),
        ({"X-Linked-Etag": f'"{hashlib.sha1(b"blob 700000" + bytes(1) + DATA).hexdigest()}"'}, "git"),
    ],
)
def test_the_publishers_own_hash_is_compared(
    server: FileServer, tmp_path: Path, headers: dict[str, str], verified: str
) -> None:
    server.files["/f"].headers = headers
    assert get(server, tmp_path).verified == verified
    (tmp_path / "f").unlink()
    server.files["/f"].data = DATA[:-1] + bytes([DATA[-1] ^ 1])
    with pytest.raises(FetchError, match="is not the published file"):
        get(server, tmp_path)
    assert not (tmp_path / "f").exists()


def test_a_redirect_is_followed_and_what_it_says_is_compared(server: FileServer, tmp_path: Path) -> None:
    """As the hub does: the address of the file knows its hash, the storage behind it does not."""
    server.files["/hub"] = Served(b"", redirect="/f", headers={"X-Linked-Etag": f'"{SHA256}"'})
    server.files["/f"].cut_after = [100_000]
    assert get(server, tmp_path, "/hub").verified == "sha256"
    assert server.asked == [("/hub", None), ("/f", None), ("/hub", "bytes=100000-"), ("/f", "bytes=100000-")]


def test_a_redirect_to_a_file_is_not_followed(server: FileServer, tmp_path: Path) -> None:
    server.files["/hub"] = Served(b"", redirect="file:///etc/passwd")
    with pytest.raises(FetchError, match="file:///etc/passwd"):
        get(server, tmp_path, "/hub")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(server: FileServer, tmp_path: Path, status: int) -> None:
    server.files["/f"].statuses = [status, status]
    assert get(server, tmp_path).bytes == len(DATA)
    assert server.counts["/f"] == 3


@pytest.mark.parametrize("status", [400, 404, 410])
def test_a_server_that_does_not_have_it_is_not_asked_again(server: FileServer, tmp_path: Path, status: int) -> None:
    server.files["/f"].statuses = [status] * 9
    with pytest.raises(FetchError, match=f"the server answers {status}"):
        get(server, tmp_path)
    assert server.counts["/f"] == 1


def test_an_answer_for_other_bytes_than_asked_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].cut_after = [100_000]
    server.files["/f"].content_range = "bytes 0-699999/700000"
    with pytest.raises(FetchError, match="asked for bytes from 100000, the server answers 'bytes 0-699999/700000'"):
        get(server, tmp_path)
    assert not (tmp_path / "f").exists()


def test_a_compressed_answer_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].headers = {"Content-Encoding": "gzip"}
    with pytest.raises(FetchError, match="the server sends it as gzip"):
        get(server, tmp_path)


def test_a_server_that_falls_silent_is_given_up(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].stall = 3
    begun = time.monotonic()
    with pytest.raises(FetchError, match="timed out"):
        fetch(Remote("f", server.url + "/f"), tmp_path / "f", attempts=2, patience=0.2, pause=lambda seconds: None)
    assert time.monotonic() - begun < 3


def test_pauses_grow_and_progress_resets_them(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].statuses = [503, 503, 503]
    server.files["/f"].cut_after = [100_000]
    pauses: list[float] = []
    fetch(Remote("f", server.url + "/f"), tmp_path / "f", patience=5, pause=pauses.append)
    assert pauses == [2, 4, 8, 1]


def test_nobody_there_is_an_error_that_names_the_address(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"http://127\.0\.0\.1:1/f: cannot be reached"):
        fetch(Remote("f", "http://127.0.0.1:1/f"), tmp_path / "f", attempts=1, pause=lambda seconds: None)


def test_a_full_disk_keeps_what_arrived(tmp_path: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000));"
        "from sopbench.datasets.fetching import fetch; from sopbench.datasets.registry import Remote; from pathlib import Path;"
        f"fetch(Remote('f', {server.url + '/f'!r}), Path({str(tmp_path / 'f')!r}))"
    )
    done = subprocess.run([sys.executable, "-c", limited], capture_output=True, text=True, timeout=60)
    assert f"DiskFull: no room in {tmp_path}" in done.stderr
    assert not (tmp_path / "f").exists()
    get(server, tmp_path, sha256=SHA256)
    assert server.asked[-1][1] == "bytes=300000-"


# -- a data set --------------------------------------------------------------------------------------------------------


def data_set(server: FileServer, *files: Remote, size: int | None = None, **more: Any) -> DataSet:
    return DataSet("some-set", "title", "https://publisher/page", "MIT", size, "tasks", "none", files, **more)


def three(server: FileServer) -> DataSet:
    server.files |= {f"/{name}": Served(name.encode() * 1000) for name in ("a", "b", "sub/c")}
    return data_set(server, *(Remote(name, f"{server.url}/{name}") for name in ("a", "b", "sub/c")))


def test_a_data_set_is_pulled_once(server: FileServer, tmp_path: Path) -> None:
    wanted = three(server)
    first = pull(wanted, tmp_path)
    assert (first.files, first.fetched, first.bytes) == (3, 3, 7000)
    assert (tmp_path / "sub" / "c").read_bytes() == b"sub/c" * 1000
    second = pull(wanted, tmp_path)
    assert (second.files, second.fetched) == (3, 0)
    assert server.counts == {"/a": 1, "/b": 1, "/sub/c": 1}
    record = json.loads((tmp_path / "pull.json").read_text())
    assert record["files"]["a"]["sha256"] == hashlib.sha256(b"a" * 1000).hexdigest()


def test_what_is_missing_is_pulled_alone(server: FileServer, tmp_path: Path) -> None:
    wanted = three(server)
    pull(wanted, tmp_path)
    (tmp_path / "b").unlink()
    assert pull(wanted, tmp_path).fetched == 1
    assert server.counts["/b"] == 2


def test_only_takes_files_that_fit(server: FileServer, tmp_path: Path) -> None:
    wanted = three(server)
    assert pull(wanted, tmp_path, only=["c", "a"]).files == 2
    assert not (tmp_path / "b").exists()
    with pytest.raises(DataError, match="some-set has no file that fits z"):
        pull(wanted, tmp_path, only=["z"])


def test_a_file_that_was_changed_since_is_named(server: FileServer, tmp_path: Path) -> None:
    wanted = three(server)
    pull(wanted, tmp_path)
    (tmp_path / "a").write_bytes(b"b" * 1000)
    with pytest.raises(
        DataError, match=r"/a is not the published file \(another sha256 since it was pulled\)\. Delete it"
    ):
        pull(wanted, tmp_path)


def test_verify_reads_everything_again(server: FileServer, tmp_path: Path) -> None:
    wanted = three(server)
    pull(wanted, tmp_path)
    stat = (tmp_path / "a").stat()
    (tmp_path / "a").write_bytes(b"b" * 1000)
    os.utime(tmp_path / "a", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    pull(wanted, tmp_path)
    with pytest.raises(DataError, match="/a is not the published file"):
        pull(wanted, tmp_path, verify=True)


def test_a_file_that_was_put_there_by_hand_is_taken_if_it_is_the_right_one(server: FileServer, tmp_path: Path) -> None:
    server.files["/f"].statuses = [403]
    wanted = data_set(server, Remote("f", f"{server.url}/f", len(DATA), SHA256))
    with pytest.raises(FetchError) as refusal:
        pull(wanted, tmp_path)
    said = str(refusal.value)
    assert "403" in said
    assert (
        f"sign in and accept the terms at https://publisher/page, download f in a browser, put them into {tmp_path}"
        in said
    )
    assert "sopbench data pull some-set --to" in said
    (tmp_path / "f").write_bytes(DATA[:-1])
    with pytest.raises(DataError, match="not the published file"):
        pull(wanted, tmp_path)
    (tmp_path / "f").write_bytes(DATA)
    assert pull(wanted, tmp_path).verified == {"sha256": 1}


def test_progress_adds_up_also_where_bytes_were_here_before(server: FileServer, tmp_path: Path) -> None:
    wanted = data_set(server, Remote("f", f"{server.url}/f", len(DATA)), Remote("g", f"{server.url}/g", 10))
    server.files["/g"] = Served(b"0123456789")
    (tmp_path / ".f.part").write_bytes(DATA[:200_000])
    (tmp_path / ".f.part.json").write_text(json.dumps({"url": f"{server.url}/f", "validator": server.files["/f"].tag}))
    told: list[Transfer] = []
    pull(wanted, tmp_path, watch=told.append)
    assert (told[0].bytes, told[0].total) == (0, len(DATA) + 10)
    assert (told[-1].bytes, told[-1].resumed, told[-1].files) == (len(DATA) + 10, 200_000, 2)
    assert all(a.bytes <= b.bytes for a, b in pairwise(told))


def test_a_disk_that_is_too_small_is_refused_first(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match=r"The rest of some-set needs about 9,000,000\.0 GB"):
        pull(data_set(server, Remote("f", f"{server.url}/f", 9 * 10**15)), tmp_path)
    assert server.asked == []


def test_a_folder_of_another_data_set_is_not_mixed_up(server: FileServer, tmp_path: Path) -> None:
    pull(three(server), tmp_path)
    with pytest.raises(DataError, match=r"holds 'some-set'.*--to"):
        pull(DataSet("other", "t", "p", "l", None, "b", "c", (Remote("f", f"{server.url}/f"),)), tmp_path)


def test_offline_means_that_nobody_is_asked(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPBENCH_OFFLINE", "1")
    with pytest.raises(FetchError, match="SOPBENCH_OFFLINE is set"):
        pull(three(server), tmp_path)
    assert server.asked == []


def test_a_mirror_has_the_same_paths(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sop = DATA_SETS["androidcontrol-sop"]
    path = sop.files[0].url.removeprefix("https://github.com")
    server.files["/mirror" + path] = Served(b"not it")
    monkeypatch.setenv("SOPBENCH_MIRROR", server.url + "/mirror/")
    with pytest.raises(FetchError, match="the server's file has 6 bytes, the published one 2,655,635"):
        pull(sop, tmp_path)
    monkeypatch.setenv("SOPBENCH_MIRROR", "somewhere")
    with pytest.raises(UsageError, match="begins with https://"):
        pull(sop, tmp_path)


# -- listings ----------------------------------------------------------------------------------------------------------


def test_a_bucket_is_listed_page_by_page_and_its_hashes_are_compared(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", server.url)

    def item(name: str, data: bytes) -> dict[str, str]:
        md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
        return {"name": f"wild/general/{name}", "size": str(len(data)), "md5Hash": md5}

    listing = "/storage/v1/b/gresearch/o?prefix=wild%2Fgeneral%2F"
    folder = {"name": "wild/general/", "size": "0"}
    server.files[listing] = Served(json.dumps({"items": [folder, item("x", b"xx")], "nextPageToken": "t1"}).encode())
    server.files[listing + "&pageToken=t1"] = Served(json.dumps({"items": [item("y", b"yyy")]}).encode())
    server.files["/gresearch/wild/general/x"] = Served(b"xx")
    server.files["/gresearch/wild/general/y"] = Served(b"yyy")
    wanted = data_set(server, listed=(Bucket("gresearch", "wild/general/"),))
    pulled = pull(wanted, tmp_path)
    assert (pulled.files, pulled.verified) == (2, {"md5": 2})
    assert (tmp_path / "general" / "y").read_bytes() == b"yyy"


def test_a_hub_repository_is_listed_and_only_wanted_files_are_pulled(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", server.url)
    rows = [
        {"type": "directory", "oid": "0", "size": 0, "path": "images"},
        {
            "type": "file",
            "oid": "1",
            "size": 3,
            "path": "images/a b.png",
            "lfs": {"oid": hashlib.sha256(b"png").hexdigest(), "size": 3},
        },
        {"type": "file", "oid": hashlib.sha1(b"blob 2\0{}").hexdigest(), "size": 2, "path": "a.json"},
        {"type": "file", "oid": "3", "size": 9, "path": "README.md"},
    ]
    server.files["/api/datasets/o/r/tree/abc?recursive=true"] = Served(json.dumps(rows[:2]).encode())
    follows = f'<{server.url}/api/datasets/o/r/tree/abc?cursor=2>; rel="next"'
    server.files["/api/datasets/o/r/tree/abc?recursive=true"].headers = {"Link": follows}
    server.files["/api/datasets/o/r/tree/abc?cursor=2"] = Served(json.dumps(rows[2:]).encode())
    server.files["/datasets/o/r/resolve/abc/images/a%20b.png"] = Served(b"png")
    server.files["/datasets/o/r/resolve/abc/a.json"] = Served(b"{}")
    pulled = pull(data_set(server, listed=(Hub("o/r", "abc", ("*.json", "images/*")),)), tmp_path)
    assert pulled.verified == {"sha256": 1, "git": 1}
    assert (tmp_path / "images" / "a b.png").read_bytes() == b"png"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b"<html>", "the listing is not JSON"),
        (b"[1]", "the answer is not a list of files"),
        (b'{"error": "x"}', "the answer is not a list of files"),
        (b"[]", "the publisher's list is empty"),
        (b'[{"type": "file", "path": "../../etc/cron", "size": 1}]', "would lie elsewhere"),
        (b'[{"type": "file", "path": "/etc/cron", "size": 1}]', "would lie elsewhere"),
        (b"[" * 100_000, "the listing is not JSON"),
    ],
)
def test_a_listing_that_is_none_is_refused(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, complaint: str
) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", server.url)
    server.files["/api/datasets/o/r/tree/abc?recursive=true"] = Served(answer)
    with pytest.raises(FetchError, match=complaint):
        pull(data_set(server, listed=(Hub("o/r", "abc"),)), tmp_path)


def test_a_listing_without_end_is_given_up(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPBENCH_MIRROR", server.url)
    monkeypatch.setattr(pulling, "MAX_PAGES", 5)
    page = Served(b'[{"type": "file", "path": "a", "size": 1}]')
    page.headers = {"Link": f'<{server.url}/api/datasets/o/r/tree/abc?recursive=true>; rel="next"'}
    server.files["/api/datasets/o/r/tree/abc?recursive=true"] = page
    with pytest.raises(FetchError, match="more than 5 pages"):
        pull(data_set(server, listed=(Hub("o/r", "abc"),)), tmp_path)


# -- the command -------------------------------------------------------------------------------------------------------


def sopbench_data(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sopbench", "data", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


def test_the_command_pulls_the_task_lists_from_a_mirror_and_says_what_comes_next(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = sopbench_data("pull", "aitw-tasks", "--to", tmp_path, SOPBENCH_MIRROR=server.url)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {server.url}/DigiRL-agent/digirl/raw/")
    assert "404" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_says_which_folders_hold_what(
    tmp_path: Path, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPBENCH_DATA", str(tmp_path))
    pull(three(server))
    assert (held(three(server)).files, held(three(server)).bytes) == (3, 7000)
    said = json.loads(sopbench_data("where", "--json", SOPBENCH_DATA=str(tmp_path)).stdout)
    assert said["data_sets"]["screenspot-v2"] == {"folder": str(tmp_path / "screenspot-v2"), "files": 0, "bytes": 0}
    assert (
        str(tmp_path / "androidcontrol") in sopbench_data("where", "androidcontrol", SOPBENCH_DATA=str(tmp_path)).stdout
    )


def test_list_names_publisher_licence_size_and_use_of_each() -> None:
    said = json.loads(sopbench_data("list", "--json").stdout)["data_sets"]
    assert [s["name"] for s in said] == list(DATA_SETS)
    for entry in said:
        assert entry["publisher"].startswith("https://")
        assert entry["licence"]
        assert entry["becomes"]
        assert entry["files"] or entry["listed"]
    plain = sopbench_data("list").stdout
    assert all(name in plain for name in DATA_SETS)


def test_ctrl_c_keeps_what_arrived(server: FileServer, tmp_path: Path) -> None:
    path = DATA_SETS["androidcontrol"].files[2].url.removeprefix("https://storage.googleapis.com")
    big = DATA * 20
    server.files[path] = Served(big, pace=0.05)
    command = [
        sys.executable,
        "-m",
        "sopbench",
        "data",
        "pull",
        "androidcontrol",
        "--only",
        "*-00000-*",
        "--to",
        str(tmp_path),
        "--no-space-check",
    ]
    env = {**os.environ, "SOPBENCH_MIRROR": server.url}
    server.files[path].announced = 2_492_987_829
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        part = tmp_path / ".android_control-00000-of-00020.part"
        deadline = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size > 500_000) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert process.returncode == 130
    assert part.stat().st_size > 500_000
    assert big.startswith(part.read_bytes())
    assert not (tmp_path / "android_control-00000-of-00020").exists()
