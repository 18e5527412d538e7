"""Runs a fake Hugging Face hub on two local ports: the hub, which serves listings, small files
and redirects, and the storage to which redirects lead.

A scripted response for a place ("api", "resolve" or "cdn") replaces its next response.
"""
import hashlib
import http.server
import json
import threading
import urllib.parse

COMMIT = "c0" * 20


def git_sha1(content):
    """The name that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Repo:
    """A repository: files by path, and which of them are large, stored elsewhere."""

    def __init__(self, files, large=(".gguf", ".safetensors", ".bin"), commit=COMMIT,
                 revisions=("main",), token=None, gated=False):
        self.files, self.large, self.commit = dict(files), large, commit
        self.revisions, self.token, self.gated = revisions, token, gated

    def is_large(self, path):
        return path.endswith(tuple(self.large))

    def blob(self, path):
        """The name of a file's content in the cache."""
        content = self.files[path]
        return hashlib.sha256(content).hexdigest() if self.is_large(path) else git_sha1(content)

    def listing(self):
        siblings = []
        for path, content in self.files.items():
            entry = {"rfilename": path, "size": len(content), "blobId": git_sha1(content)}
            if self.is_large(path):
                entry["lfs"] = {"sha256": self.blob(path), "size": len(content),
                                "pointerSize": 135}
            siblings.append(entry)
        return {"id": "user/name", "sha": self.commit, "private": False, "gated": self.gated,
                "tags": ["gguf"], "downloads": 3, "siblings": siblings}


class Handler(http.server.BaseHTTPRequestHandler):
    """One request to either port."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    @property
    def hub(self):
        return self.server.hub

    def do_GET(self):
        self.close_connection = False
        place = self.server.place or ("api" if self.path.startswith("/api/") else "resolve")
        with self.hub.lock:
            self.hub.requests.append((place, self.path, dict(self.headers)))
            actions = self.hub.scripts.get(place)
            action = actions.pop(0) if actions else None
        try:
            (action or Handler.answer)(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def answer(self):
        """As the hub does."""
        if self.server.place == "cdn":
            content = self.hub.contents[self.path.split("?")[0].removeprefix("/cdn/")]
            return self.send_content(content)
        path = urllib.parse.unquote(self.path.split("?")[0])
        if path.startswith("/api/models/"):
            name, _, revision = path.removeprefix("/api/models/").partition("/revision/")
            return self.answer_listing(name, revision)
        name, _, rest = path[1:].partition("/resolve/")
        revision, _, file = rest.partition("/")
        return self.answer_file(name, revision, file)

    def repo(self, name, revision, file=None):
        """The repository if it is there and may be read; else the refusal has been sent."""
        repo = self.hub.repos.get(name)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repo is None or (repo.token and not repo.gated and token != repo.token):
            return self.send_error_code(401, "RepoNotFound")
        if repo.gated and token != repo.token and file is not None:
            return self.send_error_code(403 if token else 401, "GatedRepo")
        if revision not in (*repo.revisions, repo.commit):
            return self.send_error_code(404, "RevisionNotFound")
        if file is not None and file not in repo.files:
            return self.send_error_code(404, "EntryNotFound")
        return repo

    def answer_listing(self, name, revision):
        repo = self.repo(name, revision)
        if repo is None:
            return
        body = json.dumps(repo.listing()).encode()
        self.send(200, body, {"Content-Type": "application/json; charset=utf-8"})

    def answer_file(self, name, revision, file):
        repo = self.repo(name, revision, file)
        if repo is None:
            return
        content, blob = repo.files[file], repo.blob(file)
        common = {"X-Repo-Commit": repo.commit, "ETag": f'"{git_sha1(content)}"'}
        if not repo.is_large(file):
            self.send_content(content, common)
            return
        self.hub.contents[blob] = content
        self.send(302, b"Found", {**common, "X-Linked-Etag": f'"{blob}"',
                                  "X-Linked-Size": str(len(content)),
                                  "Location": f"{self.hub.cdn}/cdn/{blob}?signature=x"})

    def send_content(self, content, headers=None):
        """A file's content, or the part of it that was asked for."""
        asked = self.headers.get("Range")
        if asked is None:
            self.send(200, content, {**(headers or {}), "Accept-Ranges": "bytes"})
            return
        begin = int(asked.removeprefix("bytes=").removesuffix("-"))
        if begin >= len(content):
            self.send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        self.send(206, content[begin:], {
            **(headers or {}), "Content-Range":
            f"bytes {begin}-{len(content) - 1}/{len(content)}"})

    def send_error_code(self, status, code):
        self.send(status, json.dumps({"error": code}).encode(),
                  {"X-Error-Code": code, "X-Error-Message": "no"})

    def send(self, status, body, headers=None, length=None):
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def status(code, **headers):
    """Answers with a status and nothing else."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda handler: handler.send(code, b"no", named)


def body(content, code=200, **headers):
    """Answers with these bytes."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda handler: handler.send(code, content, named)


def redirect(url, code=302):
    return status(code, Location=url)


def changed(function):
    """Answers with the listing after `function` has changed it."""
    def act(handler):
        name = handler.path.removeprefix("/api/models/").split("/revision/")[0]
        listing = handler.hub.repos[name].listing()
        function(listing)
        handler.send(200, json.dumps(listing).encode())
    return act


def cut(count):
    """Sends `count` bytes of a content, promises all of it and closes the connection."""
    def act(handler):
        content = handler.hub.contents[handler.path.split("?")[0].removeprefix("/cdn/")]
        asked = handler.headers.get("Range")
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        part = {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
        handler.send(206 if asked else 200, content[begin:begin + count], part if asked else {},
                     length=len(content) - begin)
        handler.close_connection = True
    return act


def whole(handler):
    """Sends all of a content, whatever part was asked for."""
    handler.send(200, handler.hub.contents[handler.path.split("?")[0].removeprefix("/cdn/")])


def silent(event):
    """Sends nothing until the event, then closes."""
    def act(handler):
        event.wait(60)
        handler.close_connection = True
    return act


def held(count, arrived, go_on):
    """Sends the first bytes of a content, says that it has, and waits before it sends the rest."""
    def act(handler):
        content = handler.hub.contents[handler.path.split("?")[0].removeprefix("/cdn/")]
        handler.send(200, content[:count], length=len(content))
        handler.wfile.flush()
        arrived.set()
        go_on.wait(60)
        handler.wfile.write(content[count:])
    return act


class Server(http.server.ThreadingHTTPServer):
    """One of the two ports."""

    daemon_threads = True

    def __init__(self, hub, place):
        self.hub, self.place = hub, place
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request, client_address):
        """A client may go at any time."""


class Hub:
    """Both ports, with what they hold and what they were asked."""

    def __init__(self):
        self.lock = threading.Lock()
        self.repos, self.contents, self.scripts, self.requests = {}, {}, {}, []
        self.servers = [self.serve(place) for place in (None, "cdn")]
        self.endpoint, self.cdn = (f"http://127.0.0.1:{s.server_port}" for s in self.servers)

    def serve(self, place):
        server = Server(self, place)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def script(self, place, *actions):
        """What happens to the next requests to a place; None is the usual."""
        self.scripts[place] = list(actions)

    def count(self, place):
        return sum(1 for request in self.requests if request[0] == place)

    def clear(self):
        self.repos, self.contents, self.scripts, self.requests = {}, {}, {}, []

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
