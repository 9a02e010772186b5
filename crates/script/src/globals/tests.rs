//! Globals in a real realm. Each line of JavaScript is evaluated and must be true; a line that ends in a backslash continues on the next.
//! The expected values come from the standards (and for `console` from Node's `util.inspect`).

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::{CatchResultExt, Context, Runtime};

use super::*;
use crate::data::draws::DrawStream;
use console::ConsoleLevel;

type Lines = Rc<RefCell<Vec<(ConsoleLevel, String)>>>;

fn with_globals(seed: u64, test: impl for<'js> FnOnce(&Ctx<'js>, &Lines)) {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    let lines = Lines::default();
    context.with(|ctx| {
        let native = Object::new(ctx.clone()).unwrap();
        let random = RandomHandle::new(seed, DrawStream::Realm { number: 0 });
        let sink = Rc::clone(&lines);
        install(&ctx, &native, &random, Rc::new(move |level, line| sink.borrow_mut().push((level, line.to_owned())))).catch(&ctx).unwrap();
        ctx.globals().set("native", native).unwrap();
        test(&ctx, &lines);
    });
}

fn all_true(source: &str) {
    with_globals(1, |ctx, _| {
        for line in source.replace("\\\n", "").lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
            let value = ctx.eval::<bool, _>(line).catch(ctx);
            assert!(matches!(value, Ok(true)), "{line}\n{value:?}");
        }
    });
}

/// The error that a line throws, as a string.
fn thrown(source: &str) -> String {
    let mut text = String::new();
    with_globals(1, |ctx, _| {
        text =
            ctx.eval(format!("(() => {{ try {{ {source}; return 'nothing'; }} catch (error) {{ return String(error); }} }})()")).unwrap();
    });
    text
}

#[test]
fn urls_follow_the_standard() {
    all_true(
        r##"
        new URL("HTTP://User:p%40ss@EXAMPLE.com:80/a/../b?q=1#top").href === "http://User:p%40ss@example.com/b?q=1#top"
        new URL("../c?x", "https://a.example:8443/a/b/").href === "https://a.example:8443/a/c?x"
        (({ protocol, host, hostname, port, pathname, search, hash, origin, username, password }) => \
           JSON.stringify([protocol, host, hostname, port, pathname, search, hash, origin, username, password]) \
         )(new URL("https://u:p@h.example:8443/p?q#f")) === \
           '["https:","h.example:8443","h.example","8443","/p","?q","#f","https://h.example:8443","u","p"]'
        new URL("http://[::1]:3000/").hostname === "[::1]"
        new URL("http://münchen.de/ü?ä").href === "http://xn--mnchen-3ya.de/%C3%BC?%C3%A4"
        URL.canParse("/x") === false && URL.canParse("/x", "http://a") && URL.parse("no") === null
        String(new URL("http://a")) === "http://a/" && JSON.stringify(new URL("http://a")) === '"http://a/"'
        ((u) => (u.port = "443", u.protocol = "https", u.pathname = "x y", u.hash = "z", u.search = "", u.href))( \
           new URL("http://a:8080/?q")) === "https://a/x%20y#z"
        ((u) => (u.port = "no", u.hostname = "", u.href))(new URL("http://a:8080/")) === "http://a:8080/"
        Object.prototype.toString.call(new URL("http://a")) === "[object URL]"
        "##,
    );
    assert_eq!(thrown("new URL('/x')"), "TypeError: Invalid URL: /x");
    assert_eq!(thrown("new URL('http://a').href = 'no'"), "TypeError: Invalid URL: no");
}

#[test]
fn search_parameters_follow_the_standard() {
    all_true(
        r##"
        new URLSearchParams("?a=1&b=%20+x&a=2").getAll("a").join() === "1,2"
        new URLSearchParams("b=%20+x&c").get("b") === "  x" && new URLSearchParams("c").get("c") === "" && new URLSearchParams("").get("c") === null
        new URLSearchParams({ q: "ä &=", n: 1 }).toString() === "q=%C3%A4+%26%3D&n=1"
        new URLSearchParams([["a", "1"], ["a", "2"]]).toString() === "a=1&a=2"
        new URLSearchParams(new URLSearchParams("x=1")).toString() === "x=1"
        ((p) => (p.set("a", "9"), p.append("c", "3"), p.delete("b"), p.toString()))(new URLSearchParams("a=1&b=2&a=3")) === "a=9&c=3"
        ((p) => (p.delete("a", "1"), p.toString()))(new URLSearchParams("a=1&a=2")) === "a=2"
        ((p) => (p.sort(), p.toString()))(new URLSearchParams("b=2&a=1&b=1")) === "a=1&b=2&b=1"
        JSON.stringify([...new URLSearchParams("a=1&b=2")]) === '[["a","1"],["b","2"]]' && [...new URLSearchParams("a=1&b=2").keys()].join() === "a,b"
        ((s) => (new URLSearchParams("a=1&b=2").forEach((v, n) => s.push(n + v)), s.join()))([]) === "a1,b2"
        new URLSearchParams("a=1&a=2").size === 2 && new URLSearchParams("a=1").has("a", "1") && !new URLSearchParams("a=1").has("a", "2")
        ((u) => (u.searchParams.append("q", "a b"), u.href))(new URL("http://a/?x=1")) === "http://a/?x=1&q=a+b"
        ((u) => { const p = u.searchParams; u.search = "?y=2"; return p.get("y") === "2" && p.get("x") === null; })(new URL("http://a/?x=1"))
        ((u) => (u.searchParams.delete("x"), u.href))(new URL("http://a/?x=1")) === "http://a/"
        "##,
    );
    assert!(thrown("new URLSearchParams([['a']])").starts_with("TypeError"));
}

#[test]
fn text_is_utf_8() {
    all_true(
        r##"
        [...new TextEncoder().encode("aé€😀")].join() === "97,195,169,226,130,172,240,159,152,128"
        new TextEncoder().encode().length === 0 && [...new TextEncoder().encode("\ud800")].join() === "239,191,189"
        new TextDecoder().decode(new Uint8Array([97, 195, 169, 0xff])) === "aé\ufffd"
        new TextDecoder("UTF8").encoding === "utf-8" && new TextDecoder().decode() === ""
        new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])) === "A" && \
           new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])) === "\ufeffA"
        new TextDecoder().decode(new Uint8Array([65, 66, 67]).subarray(1)) === "BC" && new TextDecoder().decode(new Uint8Array([65]).buffer) === "A"
        new TextDecoder().decode(new Uint16Array([0x4241])) === "AB"
        JSON.stringify(new TextEncoder().encodeInto("a€b", new Uint8Array(4))) === '{"read":2,"written":4}'
        btoa("a\xff") === "Yf8=" && atob("Yf8=") === "a\xff"
        "##,
    );
    assert!(thrown("new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([255]))").starts_with("TypeError"));
    assert!(thrown("new TextDecoder('latin1')").starts_with("RangeError"));
    assert!(thrown("new TextDecoder().decode('text')").starts_with("TypeError"));
}

/// RFC 1321, FIPS 180, RFC 2202 and RFC 4231 test vectors.
#[test]
fn hashes_match_their_published_vectors() {
    all_true(
        r##"
        native.encoding.hash("md5", "") === "d41d8cd98f00b204e9800998ecf8427e"
        native.encoding.hash("sha1", "abc") === "a9993e364706816aba3e25717850c26c9cd0d89d"
        native.encoding.hash("sha256", new TextEncoder().encode("abc")) === "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        native.encoding.hash("sha512", "abc").startsWith("ddaf35a193617abacc417349ae204131")
        native.encoding.hmac("md5", "Jefe", "what do ya want for nothing?") === "750c783e6ab0b503eaa86e310a5db738"
        native.encoding.hmac("sha1", "Jefe", "what do ya want for nothing?") === "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        native.encoding.hmac("sha256", "Jefe", "what do ya want for nothing?") === "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        native.encoding.hmac("sha512", new Uint8Array(20).fill(0x0b), "Hi There").startsWith("87aa7cdea5ef619d4ff0b4241a1d6cb0")
        native.encoding.hash("md5", "", "base64") === "1B2M2Y8AsgTpgAmY7PhCfg==" && native.encoding.hash("md5", "", "base64url") === "1B2M2Y8AsgTpgAmY7PhCfg"
        native.encoding.hash("sha1", "abc", "bytes") instanceof Uint8Array && native.encoding.hash("sha1", "abc", "bytes").length === 20
        "##,
    );
    assert_eq!(thrown("native.encoding.hash('sha3', '')"), "TypeError: no hash \"sha3\": expected md5, sha1, sha256 or sha512");
    assert!(thrown("native.encoding.hash('md5', 5)").starts_with("TypeError: hash(name, data): expected a string or a Uint8Array"));
    assert!(thrown("native.encoding.hash('md5', '', 'base32')").starts_with("TypeError: no encoding \"base32\""));
}

#[test]
fn encodings_round_trip() {
    all_true(
        r##"
        native.encoding.base64.encode("fo?~") === "Zm8/fg==" && native.encoding.base64url.encode("fo?~") === "Zm8_fg"
        native.encoding.base64.decodeText("Zm8/fg") === "fo?~" && native.encoding.base64url.decodeText("Zm8_fg==") === "fo?~"
        [...native.encoding.base64.decode("AP8=")].join() === "0,255"
        native.encoding.hex.encode(new Uint8Array([0, 171, 255])) === "00abff" && [...native.encoding.hex.decode("00ABff")].join() === "0,171,255"
        native.encoding.hex.decodeText("ff") === "\ufffd"
        "##,
    );
    assert!(thrown("native.encoding.base64.decode('a*')").starts_with("TypeError: base64: "));
    assert!(thrown("native.encoding.hex.decode('abc')").starts_with("TypeError: hex: "));
}

#[test]
fn random_numbers_repeat_with_the_seed() {
    let draw = |seed| {
        let mut drawn = String::new();
        with_globals(seed, |ctx, _| {
            drawn = ctx.eval("[Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4)).join()].join()").unwrap();
        });
        drawn
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    all_true(
        r##"
        ((n) => n >= 0 && n < 1)(Math.random())
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())
        ((a) => crypto.getRandomValues(a) === a && a.some((n) => n > 255))(new Uint32Array(16))
        "##,
    );
    assert!(thrown("crypto.getRandomValues(new Float64Array(1))").starts_with("TypeError"));
    assert!(thrown("crypto.getRandomValues(new Uint8Array(65537))").starts_with("QuotaExceededError"));
}

#[test]
fn clones_are_deep() {
    all_true(
        r##"
        ((a, b) => b.x[0].y === 1 && b.x !== a.x && b.x[0] !== a.x[0])(...((a) => [a, structuredClone(a)])({ x: [{ y: 1 }] }))
        ((a) => (a.self = a, ((b) => b !== a && b.self === b)(structuredClone(a))))({})
        ((b) => b.get("k").has(1) && b instanceof Map)(structuredClone(new Map([["k", new Set([1])]])))
        structuredClone(new Date(5)).getTime() === 5 && String(structuredClone(/a/gi)) === "/a/gi" && \
           structuredClone(10n) === 10n && structuredClone(null) === null
        ((a, b) => b[0] === 7 && b.buffer !== a.buffer && b.length === 1)(...((a) => [a, structuredClone(a)])(new Uint8Array([6, 7]).subarray(1)))
        ((b) => b instanceof RangeError && b.message === "m" && b.cause.n === 1)(structuredClone(new RangeError("m", { cause: { n: 1 } })))
        ((b) => b.length === 3 && !(1 in b))(structuredClone([1, , 3]))
        structuredClone(undefined) === undefined && Object.is(structuredClone(-0), -0)
        "##,
    );
    assert_eq!(thrown("structuredClone({ f() {} })"), "DataCloneError: f could not be cloned.");
    assert_eq!(thrown("structuredClone(Symbol('s'))"), "DataCloneError: Symbol(s) could not be cloned.");
    assert!(thrown("structuredClone(Promise.resolve())").starts_with("DataCloneError"));
}

/// Expected lines were taken from Node 20.
#[test]
fn console_shows_values_as_node_does() {
    for (call, line) in [
        ("log('a', 1, true, null, undefined)", "a 1 true null undefined"),
        ("log(['a', \"it's\", -0, 1n, Symbol('s')])", "[ 'a', \"it's\", -0, 1n, Symbol(s) ]"),
        ("log({ a: 1, 'b-c': [ ], d: { e: { f: { g: 1 } } } })", "{ a: 1, 'b-c': [], d: { e: { f: [Object] } } }"),
        ("log([1, , 3], [, ,])", "[ 1, <1 empty item>, 3 ] [ <2 empty items> ]"),
        ("log(new Map([['a', { b: 1 }]]), new Set([1, 'x']))", "Map(1) { 'a' => { b: 1 } } Set(2) { 1, 'x' }"),
        ("log(function f() {}, () => {}, class A {})", "[Function: f] [Function (anonymous)] [class A]"),
        ("log(new (class Point { x = 1 })(), Object.create(null))", "Point { x: 1 } [Object: null prototype] {}"),
        ("log(new Date(0), /a/g, new Uint8Array([1, 2]))", "1970-01-01T00:00:00.000Z /a/g Uint8Array(2) [ 1, 2 ]"),
        ("log({ get a() { return 1; }, set b(x) {}, [Symbol('s')]: 2 })", "{ a: [Getter], b: [Setter], [Symbol(s)]: 2 }"),
        ("log('%s is %d of %i: %j %o%%', 'x', 1.5, 2.7, { a: 1 }, [1], 'more')", "x is 1.5 of 2: {\"a\":1} [ 1 ]% more"),
        ("log('100%', 1)", "100% 1"),
        ("log(Array(102).fill(0).map((_, i) => i).length, 'a\\nb', ['a\\nb'])", "102 a\nb [ 'a\\nb' ]"),
        ("log()", ""),
    ] {
        with_globals(1, |ctx, lines| {
            ctx.eval::<(), _>(format!("console.{call}")).catch(ctx).unwrap();
            assert_eq!(lines.borrow().last().unwrap(), &(ConsoleLevel::Info, line.to_owned()), "{call}");
        });
    }
}

#[test]
fn console_lines_are_bounded_and_have_levels() {
    with_globals(1, |ctx, lines| {
        ctx.eval::<(), _>("const a = {}; a.a = a; console.warn(a); console.error(Array(300).fill(7)); console.debug(new Error('broken'));")
            .unwrap();
        let lines = lines.borrow();
        assert!(lines[0].0 == ConsoleLevel::Warn && lines[0].1.contains("[Circular *1]"), "{lines:?}");
        assert!(lines[1].0 == ConsoleLevel::Error && lines[1].1.ends_with("7, ... 200 more items ]"), "{lines:?}");
        assert!(lines[2].0 == ConsoleLevel::Debug && lines[2].1.starts_with("Error: broken\n    at "), "{lines:?}");
    });
}
