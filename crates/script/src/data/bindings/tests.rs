//! Native data objects in real realms, as `module/data.ts` uses them.

use std::path::Path;

use rquickjs::{CatchResultExt, CaughtError, Context, Runtime, Value};

use super::texts::FileHandle;
use super::*;
use crate::data::draws::DrawStream;
use crate::permissions::{FileAccess, Permissions};

/// One realm over a store, with `__loadstone.data` as `data` and a folder of files.
struct TestRealm {
    context: Context,
    scope: Rc<RealmData>,
}

impl TestRealm {
    fn new(store: &Arc<Store>, folder: &Path) -> Self {
        let context = Context::full(&Runtime::new().unwrap()).unwrap();
        let folder = folder.to_owned();
        let scope = context.with(|ctx| {
            let native = Object::new(ctx.clone()).unwrap();
            let scope = install(&ctx, &native, store, Box::new(move |_| folder.clone())).unwrap();
            ctx.globals().set("data", native.get::<_, Value<'_>>("data").unwrap()).unwrap();
            scope
        });
        Self { context, scope }
    }

    /// The value as JSON, or the thrown error.
    fn eval(&self, source: &str) -> String {
        self.context.with(|ctx| match ctx.eval::<Value<'_>, _>(source).catch(&ctx) {
            Ok(value) => ctx.json_stringify(value).unwrap().map_or_else(|| "undefined".to_owned(), |text| text.to_string().unwrap()),
            Err(CaughtError::Exception(exception)) => {
                let name: String = exception.as_object().get("name").unwrap();
                format!("{name}: {}", exception.message().unwrap_or_default())
            }
            Err(other) => panic!("{source}: {other}"),
        })
    }
}

fn folder_and_store() -> (tempfile::TempDir, Arc<Store>) {
    let folder = folder();
    let store = Store::new(1, FileAccess::new(folder.path(), &Permissions::default()));
    (folder, store)
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("people.csv", "name,age\nAda,36\nBob,40\n"),
        ("orders.json", "[{\"id\": 1, \"tags\": [\"a\"]}, {\"id\": 2, \"tags\": []}]"),
        ("tap.txt", "tap {{barcode}}\n{{deep.list|json}}\n"),
        ("photo.jpg", "\u{1F4F7}"),
        ("empty.csv", ""),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

#[test]
fn rows_are_new_plain_objects() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    assert_eq!(realm.eval("const csv = data.open('csv', 'people.csv'); [csv.length, csv.row(1)]"), r#"[2,{"name":"Bob","age":"40"}]"#);
    assert_eq!(realm.eval("csv.row(0) !== csv.row(0) && Object.getPrototypeOf(csv.row(0)) === Object.prototype"), "true");
    assert_eq!(realm.eval("data.open('json', 'orders.json').row(0)"), r#"{"id":1,"tags":["a"]}"#);
    assert_eq!(realm.eval("data.open('csv', 'people.csv', ',', ['x', 'y']).row(0)"), r#"{"x":"name","y":"age"}"#);
}

#[test]
fn bad_files_throw_errors_that_name_them() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    for (source, part) in [
        ("data.open('csv', 'no.csv')", "no.csv: cannot be read"),
        ("data.open('csv', 'empty.csv')", "empty.csv: has no rows"),
        ("data.open('jsonl', 'people.csv')", "people.csv:1: not JSON"),
        ("data.open('csv', 'people.csv', '--')", "one ASCII character"),
        ("data.template('no.txt', {})", "no.txt: cannot be read"),
        ("data.file('no.txt')", "no.txt: cannot be read"),
    ] {
        let thrown = realm.eval(source);
        assert!(thrown.starts_with("Error: ") && thrown.contains(part), "{thrown}");
    }
}

#[test]
fn realms_share_positions_and_exhaustion_has_a_name() {
    let (folder, store) = folder_and_store();
    let realms = [TestRealm::new(&store, folder.path()), TestRealm::new(&store, folder.path())];
    for realm in &realms {
        realm.eval(
            "const one = data.feeder('queue', 2, '/x/people.csv'), two = data.feeder('circular', 2, '/x/people.csv'), \
             ids = data.feeder('generator', 0, ''); 0",
        );
    }
    assert_eq!(realms[0].eval("[one.take(), two.take(), ids.take(), one.remaining, two.remaining === Infinity]"), "[0,0,0,1,true]");
    assert_eq!(realms[1].eval("[one.take(), two.take(), ids.take(), one.remaining]"), "[1,1,1,0]");
    assert_eq!(realms[0].eval("one.take()"), "Exhausted: people.csv is exhausted: all 2 rows have been used (queue)");
    assert_eq!(realms[0].eval("two.take()"), "0");
    assert!((0.0..1.0).contains(&realms[0].scope.random().draws().unit()));
    realms[0].scope.seal();
    assert!(realms[0].eval("data.feeder('queue', 2, '')").starts_with("Error: queue(): declare feeders at the top level"));
}

#[test]
fn shared_values_reach_other_realms() {
    let (folder, store) = folder_and_store();
    let realms = [TestRealm::new(&store, folder.path()), TestRealm::new(&store, folder.path())];
    for realm in &realms {
        realm.eval("const list = data.shared('list', '[]'), n = data.shared('n', '1'); 0");
    }
    assert_eq!(realms[0].eval("[list.push(['1', '\"x\"']), n.increment(2), list.version]"), "[2,3,1]");
    assert_eq!(
        realms[1].eval("[list.read(), n.read(), list.shift(), list.replaceIf(1, '[]'), list.replaceIf(2, '[]'), list.shift()]"),
        r#"[[1,"[1,\"x\"]"],[1,"3"],"1",false,true,null]"#
    );
    assert_eq!(realms[1].eval("list.increment(1)"), "TypeError: shared \"list\" holds a list, and this operation needs a number");
}

#[test]
fn templates_are_filled_from_objects() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    assert_eq!(realm.eval("data.template('tap.txt', { barcode: 7, deep: { list: ['a'] } })"), r#""tap 7\n[\"a\"]\n""#);
    assert!(realm.eval("data.template('tap.txt', { barcode: 'x' })").contains("tap.txt:2: no value for {{deep.list}}"));
    assert!(realm.eval("data.template('tap.txt')").contains("tap.txt:1: no value for {{barcode}}"));
    assert_eq!(realm.eval("data.templateText('{{a}}-{{b}}', { a: null, b: true })"), r#""null-true""#);
    assert_eq!(realm.eval("data.templateText('{{a}}', { get a() { throw new RangeError('mine'); } })"), "RangeError: mine");
}

#[test]
fn files_have_bytes_and_types() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    assert_eq!(
        realm.eval("const f = data.file('photo.jpg'); [f.name, f.type, f.size, f.text, f.bytes.length]"),
        "[\"photo.jpg\",\"image/jpeg\",4,\"\u{1F4F7}\",4]"
    );
    assert_eq!(realm.eval("const g = data.file('photo.jpg', { name: 'x', type: 'a/b' }); [g.name, g.type]"), r#"["x","a/b"]"#);
    realm.context.with(|ctx| {
        let file = FileHandle::of(&ctx.eval("f").unwrap()).unwrap();
        assert_eq!(file.borrow().content().bytes().len(), 4);
        assert!(FileHandle::of(&ctx.eval("({})").unwrap()).is_none());
    });
}

#[test]
fn draws_have_their_shapes() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    for source in [
        "Array(500).fill().every(() => { const n = data.random.integer(-2, 3); return Number.isInteger(n) && n >= -2 && n <= 3; })",
        "new Set(Array(500).fill().map(() => data.random.integer(1, 3))).size === 3",
        "Array(500).fill().every(() => { const n = data.random.between(5, 6); return n >= 5 && n < 6; })",
        "['a', 'b'].includes(data.random.choice(['a', 'b']))",
        "Array(500).fill().every(() => data.random.weighted({ a: 1, b: 0 }) === 'a')",
        "Array(500).fill().some(() => data.random.weighted({ a: 1, b: 1 }) === 'b')",
        "data.random.shuffle([1, 2, 3]).sort().join() === '1,2,3'",
        "/^[a-z0-9]{8}$/.test(data.random.string(8)) && /^[xy]{9}$/.test(data.random.string(9, 'xy')) && data.random.string(0) === ''",
        "data.random.bytes(5) instanceof Uint8Array && data.random.bytes(5).length === 5",
        "data.random.uuid().length === 36 && data.random.boolean(1) && !data.random.boolean('0%')",
        "data.random.delay('250ms') === 250 && data.random.delay('uniform(1s, 2s)') >= 1000",
        "data.uniqueId() !== data.uniqueId() && data.uniqueId('user').startsWith('user-')",
    ] {
        assert_eq!(realm.eval(source), "true", "{source}");
    }
    for source in [
        "choice([])",
        "integer(2, 1)",
        "integer(0.5, 2)",
        "between(2, 1)",
        "weighted({})",
        "string(-1)",
        "delay('soon')",
        "boolean(2)",
        "bytes(1e12)",
    ] {
        assert!(realm.eval(&format!("data.random.{source}")).starts_with("RangeError: "), "{source}");
    }
}

#[test]
fn user_streams_repeat_and_restart() {
    let (folder, store) = folder_and_store();
    let realm = TestRealm::new(&store, folder.path());
    let stream = |iteration| DrawStream::Iteration { leaf: 0, user: 3, iteration };
    let handle = RandomHandle::new(7, stream(0));
    realm.context.with(|ctx| ctx.globals().set("user", handle.object(&ctx).unwrap()).unwrap());
    let first = realm.eval("[user.number(), user.number()]");
    handle.restart(stream(1));
    assert_ne!(realm.eval("[user.number(), user.number()]"), first);
    handle.restart(stream(0));
    assert_eq!(realm.eval("[user.number(), user.number()]"), first);
}
