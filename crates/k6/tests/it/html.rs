//! Pages and selections. The expected values are those of k6 1.4.2.

use loadstone_engine::IterationEnd;
use loadstone_metrics::Outcome;

use crate::harness::Bench;

const PAGE: &str = r#"<html><head><title>T</title></head><body><form action="/x" method="post"><input name="a" value="1">
<input type="checkbox" name="c" value="on" checked><select name="s"><option value="o1">O1</option><option selected>O2</option></select>
<textarea name="t">tt</textarea><input type="submit" name="go" value="Go"></form><ul id="u"><li class="i x">One</li>
<li class="i" data-foo-bar="7" data-j='{"a":1}'> Two <b>b</b></li>text<li>Three</li></ul><a href="/l?q=1#h">L</a></body></html>"#;

/// The JSON of each expression over `doc`.
fn values(expressions: &[&str]) -> Vec<String> {
    let lines: String =
        expressions.iter().map(|expression| format!("console.log(JSON.stringify({expression}) ?? 'undefined');\n")).collect();
    let page = PAGE.replace('\n', "");
    let script = format!(
        "import {{ parseHTML }} from 'k6/html'; const doc = parseHTML(`{page}`); const f = (selector) => doc.find(selector);\n\
         const of = (subject, read) => read(subject);\nexport default function () {{ {lines} }}"
    );
    let bench = Bench::new(&script);
    let end = bench.run(&mut bench.user(), 0);
    let printed = bench.printed();
    assert_eq!(end, IterationEnd::Ended(Outcome::Passed), "{printed:?}");
    printed
}

#[test]
fn selections_are_those_of_k6() {
    for (expression, expected) in [
        ("f('li').map((i, li) => i + li.text())", r#"["0One","1 Two b","2Three"]"#),
        (
            "of([], (all) => (f('li').each((i, e) => all.push(i + e.nodeName() + e.textContent())), all))",
            r#"["0liOne","1li Two b","2liThree"]"#,
        ),
        ("f('li').filter((i, li) => i === 1).size()", "1"),
        ("[f('li').attr('nope'), f('li').attr('nope', 'd')]", r#"[null,"d"]"#),
        ("[f('zzz').html(), f('zzz').text()]", r#"["",""]"#),
        ("f('ul').html().slice(37, 89)", r#"" data-foo-bar=\"7\" data-j=\"{&#34;a&#34;:1}\"> Two <b>b""#),
        ("['select', '[name=a]', 'textarea', 'option', 'li'].map((one) => f(one).val())", r#"["O2","1","tt","o1",null]"#),
        ("[f('li').eq(1).data('fooBar'), f('li').eq(1).data('foo-bar'), f('li').eq(1).data()]", r#"[7,7,{"fooBar":7,"j":{"a":1}}]"#),
        ("[f('form').serialize(), f('form').serializeObject()]", r#"["a=1&s=O2&t=tt",{"a":"1","s":"O2","t":"tt"}]"#),
        ("[f('ul').contents().size(), f('ul').children('.i').size(), f('li[').size()]", "[4,2,0]"),
        (
            "[f('li').first().nextAll(), f('b').parents(), f('b').parentsUntil('ul'), f('li').last().prevAll()].map((s) => s.size())",
            "[2,4,1,2]",
        ),
        ("[f('b').closest('li').text(), f('li').slice(-1).text()]", r#"[" Two b","Three"]"#),
        ("[f('li').has('b'), f('li').not('.x'), f('ul').find(f('li'))].map((s) => s.size())", "[1,2,3]"),
        ("[f('li').get(0).nodeName(), f('li').get().length, f('li').get(9)]", r#"["li",3,null]"#),
    ] {
        assert_eq!(values(&[expression]), [expected], "{expression}");
    }
}

#[test]
fn elements_are_those_of_k6() {
    for (expression, expected) in [
        (
            "of(f('a').get(0), (a) => [a.href(), a.text(), a.search(), a.hash(), a.pathname(), a.nodeType(), a.nodeValue()])",
            r##"["/l?q=1#h","L","?q=1","#h","/l",1,null]"##,
        ),
        ("of(f('input').get(0), (e) => [e.name(), e.value(), e.type(), e.form().nodeName()])", r#"["a","1","text","form"]"#),
        ("[f('li').get(0).classList(), f('li').get(0).className()]", r#"[["i","x"],"i x"]"#),
        (
            "of(f('ul').get(0), (ul) => [ul.children().length, ul.childNodes().length, ul.firstChild().nodeName(), ul.ownerDocument().nodeName()])",
            r##"[3,4,"li","#document"]"##,
        ),
        (
            "of(f('ul').get(0), (ul) => [ul.querySelector('b').textContent(), ul.querySelectorAll('li').length, ul.matches('ul'), ul.lang()])",
            r#"["b",3,true,null]"#,
        ),
        ("String(f('a').get(0))", r##""/l?q=1#h""##),
    ] {
        assert_eq!(values(&[expression]), [expected], "{expression}");
    }
}
