"""A name server for tests. The zone is a dict from names to what is answered:
  A, AAAA      lists of addresses            CNAME     another name; the answer holds the whole chain
  ttl          seconds, 60 unless given      rcode     an error instead (2 SERVFAIL, 3 NXDOMAIN; unknown names get 3)
  sequence     a list of such entries: the first for the first question of a type, …, the last ever after
  truncate     over UDP only the truncated bit, the answer over TCP      delay  seconds before the answer
  garbage      bytes that are no answer
"""
import asyncio
import ipaddress
import struct

A, CNAME, AAAA = 1, 5, 28
TYPES = {A: "A", AAAA: "AAAA", CNAME: "CNAME", 16: "TXT", 15: "MX", 12: "PTR", 65: "HTTPS", 64: "SVCB", 255: "ANY"}


def _pack_name(name):
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in name.split(".")) + b"\0"


def _read_question(packet):
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    kind, _ = struct.unpack_from("!HH", packet, at + 1)
    return ".".join(labels), kind, at + 5


class NameServer:
    def __init__(self, zone, log):
        self.zone, self._log, self._asked = zone, log, {}

    def replace(self, zone):
        self.zone, self._asked = zone, {}

    def _entry(self, name, kind):
        entry = self.zone.get(name.lower(), {"rcode": 3})
        if "sequence" not in entry:
            return entry
        turn = self._asked[name.lower(), kind] = self._asked.get((name.lower(), kind), -1) + 1
        return {"ttl": entry.get("ttl", 60)} | entry["sequence"][min(turn, len(entry["sequence"]) - 1)]

    def _records(self, name, kind):
        """The answer's records, following aliases, and its code."""
        entry, records = self._entry(name, kind), []
        for _ in range(16):
            if "CNAME" not in entry:
                break
            records.append(self._record(name, CNAME, entry, _pack_name(entry["CNAME"])))
            name = entry["CNAME"]
            entry = self._entry(name, kind)
        records += [self._record(name, kind, entry, ipaddress.ip_address(address).packed) for address in entry.get(TYPES.get(kind, ""), [])
                    if kind in (A, AAAA)]
        return records, entry.get("rcode", 0)

    @staticmethod
    def _record(name, kind, entry, data):
        return _pack_name(name) + struct.pack("!HHIH", kind, 1, entry.get("ttl", 60), len(data)) + data

    async def answer(self, packet, server, transport):
        """The answer to a packet, or None for one that is no question."""
        try:
            name, kind, end = _read_question(packet)
        except (IndexError, struct.error):
            return None
        self._log.append({"name": name, "type": TYPES.get(kind, str(kind)), "server": server, "transport": transport})
        behaviour = self.zone.get(name.lower(), {})
        await asyncio.sleep(behaviour.get("delay", 0))
        if behaviour.get("garbage"):
            return packet[:2] + b"\xff" * 40
        records, code = self._records(name, kind)
        extended = packet[10:12] != b"\0\0"
        body = b"".join(records)
        cut = transport == "udp" and (behaviour.get("truncate") or end + len(body) > (1232 if extended else 512))
        flags = 0x8580 | code | (0x0200 if cut else 0)
        if cut:
            records, body = [], b""
        return packet[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + packet[12:end] + body

    async def serve(self, address):
        server = self

        class Datagrams(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, packet, sender):
                asyncio.ensure_future(self.respond(packet, sender))

            async def respond(self, packet, sender):
                answer = await server.answer(packet, address, "udp")
                if answer:
                    self.transport.sendto(answer, sender)

        async def stream(reader, writer):
            try:
                while True:
                    size = struct.unpack("!H", await reader.readexactly(2))[0]
                    answer = await server.answer(await reader.readexactly(size), address, "tcp")
                    if answer:
                        writer.write(struct.pack("!H", len(answer)) + answer)
                        await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        await asyncio.get_running_loop().create_datagram_endpoint(Datagrams, local_addr=(address, 53))
        await asyncio.start_server(stream, address, 53)
