"""The servers of the fake Internet: one process, told by lines of JSON on its input, ending when that closes.

  http, https   see internet_http.py     echo    what came            banner, ssh, http2   speak first, then echo
  record        logs what came           hold    accepts, then silence             udp           logs what came, no answer
"""
import asyncio
import json
import resource
import sys

import internet_certificates
import internet_content
import internet_dns
import internet_http

NAME_SERVERS = ("192.0.2.53", "8.8.8.8")
GREETINGS = {"banner": b"220 mail.example ready\r\n", "ssh": b"SSH-2.0-Test\r\n", "http2": b"\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64"}


class Servers:
    def __init__(self, folder):
        self.folder = folder
        self.log = {"dns": [], "http": [], "tcp": [], "udp": []}
        self.names = internet_dns.NameServer({}, self.log["dns"])

    async def start(self, ports, zone):
        is_world = zone is not None
        http = internet_http.HttpServer(self.folder, self.log["http"], self.log["tcp"], "world" if is_world else "machine")
        for port in ports.get("http", []):
            await self._listen(http.serve, port)
        if is_world:
            internet_content.make_files(self.folder)
            tls = internet_certificates.ServerContexts(self.folder).front
            for port in ports["https"]:
                await self._listen(http.serve, port, ssl=tls)
            for name in NAME_SERVERS:
                await self.names.serve(name)
            self.names.replace(zone)
        for service in ("echo", "banner", "ssh", "http2", "record", "hold"):
            for port in ports.get(service, []):
                await self._listen(self._service(service), port)
        for port in ports.get("udp", []):
            await self._record_datagrams(port)

    @staticmethod
    async def _listen(handler, port, **options):
        await asyncio.start_server(handler, "::", port, limit=internet_http.LARGEST_HEAD, backlog=4096, **options)
        await asyncio.start_server(handler, "0.0.0.0", port, limit=internet_http.LARGEST_HEAD, backlog=4096, **options)

    def _service(self, service):
        async def serve(reader, writer):
            address, port = writer.get_extra_info("sockname")[:2]
            entry = {"address": address, "port": port, "received": ""}
            self.log["tcp"].append(entry)
            try:
                writer.write(GREETINGS.get(service, b""))
                while part := await reader.read(1 << 16):
                    entry["received"] = (entry["received"] + part.decode("latin-1"))[:internet_http.KEPT_BODY]
                    if service not in ("record", "hold"):
                        writer.write(part)
                        await writer.drain()
            except ConnectionError:
                pass
            finally:
                writer.close()
        return serve

    async def _record_datagrams(self, port):
        log = self.log["udp"]

        class Recorder(asyncio.DatagramProtocol):
            def datagram_received(self, data, sender):
                log.append({"port": port, "sender": sender[0], "received": data[:200].decode("latin-1")})

        await asyncio.get_running_loop().create_datagram_endpoint(Recorder, local_addr=("::", port))  # IPv4 too

    async def obey(self, question):
        if question["do"] == "start":
            await self.start(question["ports"], question["zone"])
        elif question["do"] == "zone":
            self.names.replace(question["zone"])
        elif question["do"] == "clear":
            for part in self.log.values():
                part.clear()
            self.names.replace(self.names.zone)
        elif question["do"] == "log":
            return self.log
        return {}


async def main(folder):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    servers = Servers(folder)
    questions = asyncio.StreamReader(limit=1 << 22)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    while line := await questions.readline():
        try:
            answer = await servers.obey(json.loads(line))
        except Exception as problem:  # told to the test, which fails with it
            answer = {"error": repr(problem)}
        print(json.dumps(answer), flush=True)


asyncio.run(main(sys.argv[1]))
