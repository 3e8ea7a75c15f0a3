"""A real HTTP server on localhost with ranges, that can be told to misbehave."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server has, how it behaves, and what it was asked."""

    files: dict[str, bytes]
    etag: str = '"v1"'
    cut_after: list[int] = field(default_factory=list)  # of the next answers: bytes after which the line goes dead
    status: list[int] = field(default_factory=list)  # of the next answers: an error instead
    ranges: bool = True
    asked: list[str | None] = field(default_factory=list)  # Range header of each request
    url: str = ""


def handler_for(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.headers.get("Range"))
            if site.status:
                self.send_error(site.status.pop(0))
                return
            if self.path.startswith("/moved/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/moved"))
                self.end_headers()
                return
            content = site.files.get(self.path.strip("/"))
            if content is None:
                self.send_error(404)
                return
            self.answer(content)

        def answer(self, content: bytes) -> None:
            start = 0
            wanted = self.headers.get("Range")
            if wanted and site.ranges and self.headers.get("If-Range", site.etag) == site.etag:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            self.send_header("ETag", site.etag)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            part = content[start:]
            if site.cut_after:
                part = part[: site.cut_after.pop(0)]
            self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Site]:
    site = Site(files)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(site))
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
