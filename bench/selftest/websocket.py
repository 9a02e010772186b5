#!/usr/bin/env python3
"""A WebSocket server that answers each message after a delay, until its input ends.

Arguments as those of the truth server of crates/stub: `{"kind": "websocket", "delay_ms": 20}` and a seed, which it does not need.
"""

import asyncio, base64, hashlib, json, sys

DELAY_S = json.loads(sys.argv[1])["delay_ms"] / 1000
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 4.2.2
TEXT, CLOSE = 1, 8


async def serve(reader, writer):
    try:
        request = await reader.readuntil(b"\r\n\r\n")
        headers = (line.split(b":", 1) for line in request.split(b"\r\n")[1:] if b":" in line)
        key = {name.strip().lower(): value.strip() for name, value in headers}[b"sec-websocket-key"]
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            first, length = await reader.readexactly(2)
            length &= 0x7F
            if length > 125:
                length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
            mask, body = await reader.readexactly(4), await reader.readexactly(length)
            body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(body))
            if first & 0x0F == CLOSE:
                writer.write(bytes([0x80 | CLOSE, len(body)]) + body)
                return
            if first & 0x0F == TEXT:
                await asyncio.sleep(DELAY_S)
                writer.write(bytes([0x80 | TEXT, len(body)]) + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
