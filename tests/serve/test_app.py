"""Who may ask for what, and what is given out: nothing but pages, their images and the tool itself."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from starlette.testclient import TestClient

from pagecompiler.engine.types import Decoding, Method
from pagecompiler.folder import FolderSpec
from pagecompiler.orders import Orders
from pagecompiler.results import PageResult
from pagecompiler.serve.app import make_app
from pagecompiler.serve.board import Board
from pagecompiler.serve.guard import OUTER_POLICY
from pagecompiler.serve.methods import MethodChoice
from pagecompiler.serve.viewer import Viewer
from pagecompiler.yaml_source import MAX_BYTES
from tests.serve.studio import Studio, spec_text

HOST = "127.0.0.1:8321"
ORIGIN = f"http://{HOST}"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><script>alert(1)</script></svg>'
METHODS = (MethodChoice(Method.PLAIN, Decoding(method=Method.PLAIN)), MethodChoice(Method.MTP, None, "no block"))


class App:
    """The application without a network, for one spec whose page is written."""

    def __init__(self, spec: Path, output: Path) -> None:
        self.spec = spec
        self.orders = Orders()
        self.board = Board(None, "model", "auto")
        self.board.found([FolderSpec(spec, output)])
        self.guard = make_app(self.board, self.orders, METHODS, [HOST, "localhost:8321"])
        self.client = TestClient(self.guard, base_url=ORIGIN)

    def post(self, path: str, order: object, **headers: str) -> Any:
        known = {"Origin": ORIGIN, "X-Pagec-Token": self.guard.token, "Content-Type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, content=json.dumps(order), headers={**known, **given})

    def digest(self) -> str:
        digest: str = self.client.get("/spec?page=page").json()["digest"]
        return digest


@pytest.fixture
def app(spec: Path, tmp_path: Path) -> App:
    output = tmp_path / "out" / "page.html"
    output.parent.mkdir()
    output.write_text("<!DOCTYPE html><title>T</title><style>p { color: red; }</style><p>Hello", encoding="utf-8")
    (tmp_path / "out" / "a.svg").write_text(PICTURE, encoding="utf-8")
    (tmp_path / "out" / ".env").write_text("SECRET", encoding="utf-8")
    (tmp_path / "secret.svg").write_text("SECRET", encoding="utf-8")
    return App(spec, output)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1", "127.0.0.1:80", "localhost:8322", ""]
)
@pytest.mark.parametrize("path", ["/", "/preview", "/news", "/spec?page=page", "/pages/page.html", "/static/build.js"])
def test_another_host_name_is_answered_403(app: App, path: str, host: str) -> None:
    answer = app.client.get(path, headers={"Host": host})
    assert answer.status_code == 403 and "title: T" not in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_foreign_page_can_link_here_and_no_more(app: App, site: str) -> None:
    for path, mode in (("/news", "cors"), ("/pages/a.svg", "no-cors"), ("/static/build.js", "no-cors")):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        assert app.client.get(path, headers=headers).status_code == 403
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert app.client.get("/preview", headers=headers).status_code == 200


def test_both_names_of_this_machine_are_good(app: App) -> None:
    for host in (HOST, "localhost:8321"):
        assert app.client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8321"},
        {"X_Pagec_Token": "guess"},
        {"X_Pagec_Token": ""},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Host": "evil.example"},
    ],
)
@pytest.mark.parametrize("path", ["/compile", "/method"])
def test_an_order_from_elsewhere_is_refused(app: App, path: str, headers: dict[str, str]) -> None:
    order = {"page": "page", "text": "title: Evil\n", "digest": app.digest(), "anew": True, "method": "plain"}
    before = app.spec.read_bytes()
    assert app.post(path, order, **headers).status_code == 403
    assert app.spec.read_bytes() == before and app.orders.take() == (set(), None)


def test_an_order_without_an_origin_is_refused(app: App) -> None:
    headers = {"X-Pagec-Token": app.guard.token, "Content-Type": "application/json"}
    assert app.client.post("/compile", content="{}", headers=headers).status_code == 403


def test_orders_are_not_taken_by_address(app: App) -> None:
    assert app.client.get("/compile?page=page").status_code == 405
    assert app.client.options("/compile").status_code == 403


def test_compile_writes_the_opened_spec_and_nothing_else(app: App, tmp_path: Path) -> None:
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    answer = app.post("/compile", {"page": "page", "text": spec_text("new"), "digest": app.digest(), "anew": True})
    assert answer.status_code == 200 and answer.json()["digest"] == app.digest()
    assert app.spec.read_text(encoding="utf-8") == spec_text("new")
    assert app.orders.take()[0] == {app.spec}
    changed = [path for path in tmp_path.rglob("*") if path.is_file() and files.get(path) != path.read_bytes()]
    assert changed == [app.spec]


@pytest.mark.parametrize("page", ["../site/page", "/etc/passwd", "other", "", None, 7, ["page"]])
def test_only_specs_of_the_watch_can_be_written(app: App, page: object) -> None:
    assert app.post("/compile", {"page": page, "text": "x", "digest": ""}).status_code == 404


def test_save_leaves_what_is_current(app: App) -> None:
    assert app.post("/compile", {"page": "page", "text": spec_text("new"), "digest": app.digest()}).status_code == 200
    assert app.orders.take()[0] == set()


def test_a_spec_that_somebody_else_has_changed_is_not_written(app: App) -> None:
    digest = app.digest()
    app.spec.write_text(spec_text("theirs"), encoding="utf-8")
    answer = app.post("/compile", {"page": "page", "text": spec_text("mine"), "digest": digest, "anew": True})
    assert answer.status_code == 409
    assert (answer.json()["text"], answer.json()["digest"]) == (spec_text("theirs"), app.digest())
    assert app.spec.read_text(encoding="utf-8") == spec_text("theirs") and app.orders.take()[0] == set()


@pytest.mark.parametrize("text", ["x" * (MAX_BYTES + 1), "é" * (MAX_BYTES // 2 + 1)])
def test_more_than_a_spec_is_refused(app: App, text: str) -> None:
    assert app.post("/compile", {"page": "page", "text": text, "digest": app.digest()}).status_code == 413


def test_what_is_no_order_is_refused(app: App) -> None:
    headers = {"Origin": ORIGIN, "X-Pagec-Token": app.guard.token, "Content-Type": "application/json"}
    for body in (b"", b"[]", b"{", b"\xff", b'"x"'):
        assert app.client.post("/compile", content=body, headers=headers).status_code == 400
    assert app.client.post("/compile", content=b" " * (9 * MAX_BYTES), headers=headers).status_code == 413
    order = {"page": "page", "text": "\ud800", "digest": app.digest()}
    assert app.post("/compile", order).status_code == 400


def test_methods(app: App) -> None:
    assert app.client.get("/methods").json() == [
        {"name": "plain", "usable": True, "why": ""},
        {"name": "mtp", "usable": False, "why": "no block"},
    ]
    assert app.post("/method", {"method": "plain"}).status_code == 200
    assert app.orders.take() == (set(), Decoding(method=Method.PLAIN)) and app.board.method == "plain"
    refused = app.post("/method", {"method": "mtp"})
    assert (refused.status_code, refused.json()["message"]) == (400, "no block")
    for method in ("magic", None, 3, ["plain"]):
        assert app.post("/method", {"method": method}).status_code == 400
    assert app.orders.take() == (set(), None)


def test_a_page_is_given_out_under_a_policy_without_scripts(app: App) -> None:
    answer = app.client.get("/pages/page.html")
    policy = answer.headers["content-security-policy"].split("; ")
    assert (
        "default-src 'none'" in policy and "sandbox allow-same-origin" in policy and "frame-ancestors 'self'" in policy
    )
    assert not [rule for rule in policy if "script" in rule or "unsafe" in rule]
    digest = base64.b64encode(hashlib.sha256(b"p { color: red; }").digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy


def test_images_are_given_out_under_a_policy_without_scripts(app: App) -> None:
    answer = app.client.get("/pages/a.svg")
    assert answer.headers["content-type"] == "image/svg+xml" and answer.text == PICTURE
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@pytest.mark.parametrize(
    "path",
    [
        "/pages/.env",
        "/pages/other.html",
        "/pages/../secret.svg",
        "/pages/%2e%2e/secret.svg",
        "/pages/..%2fsecret.svg",
        "/pages/..%5csecret.svg",
        "/pages//secret.svg",
        "/pages/link.svg",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/",
        "/build.html",
    ],
)
def test_no_other_file_is_given_out(app: App, tmp_path: Path, path: str) -> None:
    (tmp_path / "out" / "link.svg").symlink_to(tmp_path / "secret.svg")
    answer = app.client.get(path)
    assert answer.status_code == 404 and "SECRET" not in answer.text and "import" not in answer.text


def test_absolute_paths_are_no_images(app: App, tmp_path: Path) -> None:
    answer = app.client.get(f"/pages/{tmp_path / 'secret.svg'}")
    assert answer.status_code == 404 and "SECRET" not in answer.text


def test_every_answer_keeps_foreign_pages_out(app: App) -> None:
    for path in ("/", "/preview", "/build/page", "/preview/page", "/methods", "/static/tool.css", "/nothing"):
        headers = app.client.get(path).headers
        assert headers["content-security-policy"] == OUTER_POLICY, path
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers and "server" not in headers


def test_the_outer_pages_have_nothing_inline(app: App) -> None:
    for path in ("/", "/preview"):
        page = BeautifulSoup(app.client.get(path).text, "html5lib")
        assert page.find("style") is None and not page.select("[style]")
        assert [script.get_text() for script in page.find_all("script")] == [""]
        assert not [name for tag in page.find_all(True) for name in tag.attrs if name.startswith("on")]


def test_candidates_are_remembered_for_the_last_build_only(app: App) -> None:
    for query in (
        "",
        "?page=page",
        "?page=page&number=0&block=hero&index=0",
        "?page=page&number=0&block=hero&index=-1",
    ):
        assert app.client.get(f"/candidates{query}").status_code == 404


def test_hostile_text_is_one_line_of_news(app: App) -> None:
    app.board.say("a\n\nevent: board\ndata: {}\n\r\u2028<script>alert(1)</script>")
    app.board.told(PageResult(str(app.spec), None, None, 0.0, "m", None, (), ()), {})

    async def first() -> list[str]:
        async with aclosing(Viewer(app.board, "page", "lanes", "t").stream()) as stream:
            return [await anext(stream), await anext(stream)]

    retry, news = asyncio.run(first())
    assert retry.startswith("retry: ")
    assert news.count("\n") == 3 and news.endswith("\n\n") and news.count("event: ") == 2
    assert json.loads(news.split("data: ", 1)[1])["notes"][0].endswith("</script>")


def test_a_real_server_checks_the_host_too(spec: Path, studio: Callable[..., Studio]) -> None:
    running = studio(spec)
    assert running.expect().ok
    port = int(running.url.rstrip("/").rpartition(":")[2])
    assert running.get("/")[0] == 200
    for host in ("evil.example", f"evil.example:{port}"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/spec?page=page", headers={"Host": host})
        assert connection.getresponse().status == 403
        connection.close()
