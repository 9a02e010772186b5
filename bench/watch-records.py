"""Writes a record to standard output, with the present time: watch-records.py jtl|access-log|k6[-names] [LINES]. See results/watch.md."""
import sys, time
fmt, entries = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
out = sys.stdout.buffer
URLS = [f"/shop/page{n % 20}/items" for n in range(1000)] if "names" not in fmt else [f"/shop/p{chr(97+n%26)}{chr(97+n//26%26)}{chr(97+n//676)}/items" for n in range(1000)]
fmt = fmt.removesuffix("-names")
BLOCK = 10_000
def line(n):
    url, ms, ok = URLS[n % 1000], 5 + (n * 7919) % 90, n % 1000 != 0
    status = 200 if ok else 503
    if fmt == "jtl":
        return [f"@T@,{ms},Item {url},{status},{'OK' if ok else 'Service Unavailable'},Users 1-{n%50},text,{'true' if ok else 'false'},,1234,150,50,50,http://127.0.0.1:8080{url},{ms-1},0,0\n"]
    if fmt == "access-log":
        return [f'127.0.0.1 @T@ "GET {url}?id={n} HTTP/1.1" {status} 1234 {ms/1000:.3f}\n']
    tags = '"expected_response":"%s","group":"","method":"GET","name":"http://127.0.0.1:8080%s","proto":"HTTP/1.1","scenario":"default","status":"%d","url":"http://127.0.0.1:8080%s"' % ("true" if ok else "false", url, status, url)
    point = lambda metric, value: '{"metric":"%s","type":"Point","data":{"time":"@T@","value":%s,"tags":{%s}}}\n' % (metric, value, tags)
    return [point("http_reqs", 1), point("http_req_duration", ms), point("http_req_blocked", 0.003), point("http_req_connecting", 0), point("http_req_tls_handshaking", 0), point("http_req_sending", 0.01), point("http_req_waiting", ms - 1), point("http_req_receiving", 0.9), point("http_req_failed", 0 if ok else 1)]
lines = []
n = 0
while len(lines) < BLOCK:
    lines += line(n); n += 1
block = "".join(lines).encode()
if fmt == "jtl":
    out.write(b"timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n")
time.sleep(1.2)
written = 0
while written < entries:
    now = time.time()
    if fmt == "jtl": stamp = str(int(now * 1000) - 100)
    elif fmt == "access-log": stamp = f"{now:.3f}"
    else: stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e9):09d}Z"
    out.write(block.replace(b"@T@", stamp.encode()))
    written += len(lines)
out.flush()
print(written, "entries,", n, "requests a block of", len(lines), file=sys.stderr)
