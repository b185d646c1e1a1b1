"""Runs inside a sandbox: takes steps as JSON, prints what each met as JSON. A step has "do" and
  tcp, tls, proxy, socks   host, port; send: texts, each answered before the next; until: what ends an answer;
                           close: say that nothing more comes; for tls: sni, alpn
                           → {"received": [text per send]} or {"error": …, "received": […]}
  udp                      host, port, send → {"received"} or {"error"}
  resolve                  host → {"addresses"} or {"error"}
  socket                   family, type, protocol numbers, host, port: opens one and sends → {"sent"} or {"error"}
Proxies are taken from the environment. Bytes are latin-1 text.
"""
import json
import os
import socket
import ssl
import sys
import urllib.parse

PATIENCE = 20  # seconds; only a hang ends that way


def proxy_address():
    url = urllib.parse.urlsplit(os.environ.get("http_proxy") or os.environ["HTTP_PROXY"])
    return url.hostname, url.port


def read_into(received, connection, step):
    """Adds what comes to the last text, until the other side closes or has said `until`."""
    until = step.get("until", "")
    connection.settimeout(step.get("patience", PATIENCE))
    received.append("")
    while not (until and until in received[-1]):
        part = connection.recv(65536)
        if not part:
            break
        received[-1] += part.decode("latin-1")


def socks_request(step):
    host = step["host"].encode()
    try:
        target = b"\x01" + socket.inet_aton(step["host"]) if step["host"].count(".") == 3 else None
    except OSError:
        target = None
    if ":" in step["host"]:
        target = b"\x04" + socket.inet_pton(socket.AF_INET6, step["host"])
    target = target or b"\x03" + bytes([len(host)]) + host
    return b"\x05" + bytes([step.get("command", 1)]) + b"\0" + target + step["port"].to_bytes(2, "big")


def open_stream(step):
    if step["do"] in ("proxy", "socks"):
        connection = socket.create_connection(proxy_address(), PATIENCE)
    elif "family" in step:
        connection = socket.socket(step["family"])
        connection.settimeout(PATIENCE)
        connection.connect((step["host"], step["port"]))
    else:
        connection = socket.create_connection((step["host"], step["port"]), PATIENCE)
    if step["do"] == "socks":
        connection.sendall(b"\x05\x01\x00")
        if connection.recv(2) != b"\x05\x00":
            raise OSError("the proxy refused the greeting")
        connection.sendall(socks_request(step))
        reply = connection.recv(10)
        if reply[1:2] != b"\0":
            raise OSError(f"SOCKS reply {reply[1] if len(reply) > 1 else 'missing'}")
    if step["do"] == "tls":
        context = ssl._create_unverified_context()
        if "alpn" in step:
            context.set_alpn_protocols(step["alpn"])
        connection = context.wrap_socket(connection, server_hostname=step.get("sni"))
    return connection


def stream(step):
    received = []
    try:
        with open_stream(step) as connection:
            for text in step.get("send", [""]):
                connection.sendall(text.encode("latin-1"))
                if step.get("close"):
                    connection.shutdown(socket.SHUT_WR)
                read_into(received, connection, step)
        return {"received": received}
    except (OSError, ssl.SSLError) as error:
        return {"error": f"{type(error).__name__}: {error}", "received": received}


def udp(step):
    try:
        with socket.socket(socket.AF_INET6 if ":" in step["host"] else socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(step.get("patience", PATIENCE))
            datagrams.connect((step["host"], step["port"]))
            datagrams.send(step["send"].encode("latin-1"))
            return {"received": datagrams.recv(65536).decode("latin-1")}
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def resolve(step):
    try:
        return {"addresses": sorted({found[4][0] for found in socket.getaddrinfo(step["host"], None)})}
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def any_socket(step):
    try:
        with socket.socket(step["family"], step["type"], step["protocol"]) as opened:
            opened.settimeout(PATIENCE)
            opened.connect((step["host"], step["port"]))
            opened.send(step["send"].encode("latin-1"))
            return {"sent": True}
    except OSError as error:
        return {"error": f"{type(error).__name__}: {error}"}


HANDLERS = {"tcp": stream, "tls": stream, "proxy": stream, "socks": stream, "udp": udp, "resolve": resolve, "socket": any_socket}
print(json.dumps([HANDLERS[step["do"]](step) for step in json.loads(sys.argv[1])]))
