//! A Python process's threads as `py-spy dump --json` writes them.
//!
//! Python has no frames for C code: a thread that waits in `lock.acquire()` or `time.sleep()` is at the calling line. The source of that line shows what
//! the thread waits for.
//!
//! A service that its package manager installed is in the folder of the libraries, so that the path alone does not show whose code a frame is. The code of
//! other packages than common libraries is the service's own where a stack has none elsewhere.

use std::collections::HashMap;

use serde::Deserialize;

use crate::stacks::functions::FunctionSamples;
use crate::stacks::position::{Frame, Position};
use crate::stacks::threads::{Doing, ThreadSamples};

/// Maximum number of cached files, and the maximum size of a file in bytes.
const FILES_MAX: usize = 200;
const FILE_MAX: u64 = 4 << 20;
/// Files and functions of libraries in which threads wait, and for what. Without a function, any function of the file. py-spy reports no classes.
const WAITS: &[(&str, &str, Doing)] = &[
    ("pool.py", "getconn", Doing::Member),
    // `Lock.acquire` is written in C: this is a semaphore's.
    ("threading.py", "acquire", Doing::Member),
    ("socket.py", "", Doing::Io),
    ("ssl.py", "", Doing::Io),
    ("selectors.py", "", Doing::Io),
    ("subprocess.py", "", Doing::Io),
    ("http/client.py", "", Doing::Io),
];
/// The wait that the source line of a thread in C code indicates.
const LINES: &[(&str, Doing)] = &[
    ("sleep(", Doing::Timer),
    ("execute(", Doing::Io),
    ("commit(", Doing::Io),
    ("recv", Doing::Io),
    ("connect(", Doing::Io),
    ("semaphore", Doing::Member),
    ("pool", Doing::Member),
    ("getconn(", Doing::Member),
    ("_lock", Doing::Lock),
    ("lock:", Doing::Lock),
    ("mutex", Doing::Lock),
    (".acquire(", Doing::Lock),
];

/// Folders of the language's own modules, and of installed packages.
const LANGUAGE: &[&str] = &["/lib/python", "<frozen"];
const PACKAGES: &[&str] = &["/site-packages/", "/dist-packages/"];
/// Packages of common servers, frameworks and libraries.
const LIBRARIES: &str = "
    MySQLdb a2wsgi aiohttp aiomysql aioredis alembic amqp anyio apscheduler asgiref asyncpg billiard boto3 botocore bottle celery certifi
    cheroot cherrypy click connexion corsheaders cryptography dateutil ddtrace django dns dramatiq elasticapm elasticsearch eventlet
    falcon fastapi flask flask_cors flask_login flask_sqlalchemy gevent google graphene graphql greenlet grpc gunicorn h11 h2 httpcore
    httptools httpx huey hypercorn idna itsdangerous jinja2 jsonschema jwt kafka kombu lxml mako markupsafe marshmallow meinheld mysql
    newrelic numpy opentelemetry orjson pandas passlib peewee pika prometheus_client psycopg psycopg2 psycopg_pool pydantic pydantic_core
    pymongo pymysql pyramid redis requests rest_framework rq s3transfer sanic scipy sentry_sdk simplejson six sniffio sqlalchemy sqlmodel
    starlette strawberry tenacity tornado transaction trio twisted typer urllib3 uvicorn uvloop vine waitress webob websocket websockets
    werkzeug whitenoise wrapt wsproto wtforms yaml zope
";

#[derive(Debug, Deserialize)]
pub(super) struct PythonThread {
    #[serde(default)]
    thread_name: Option<String>,
    /// Whether it runs or is ready to run.
    active: bool,
    owns_gil: bool,
    frames: Vec<PythonFrame>,
}

#[derive(Debug, Deserialize)]
struct PythonFrame {
    name: String,
    filename: String,
    #[serde(default)]
    short_filename: Option<String>,
    line: i64,
}

/// Cached lines of source files.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: HashMap<String, Vec<String>>,
}

/// One process at the instant of a sample.
pub(super) struct ProcessSample {
    /// A thread computes, or executes the service's own code.
    pub(super) is_at_work: bool,
    /// A thread has the interpreter's lock.
    pub(super) has_lock: bool,
}

/// Adds the threads of one process to a sample.
pub(super) fn add_to(
    threads: &mut ThreadSamples,
    functions: &mut FunctionSamples,
    dump: &[PythonThread],
    sources: &mut Sources,
) -> ProcessSample {
    let mut is_at_work = false;
    for thread in dump {
        let is_own = thread.own_code();
        let stack: Vec<Frame> = thread.frames.iter().map(|frame| frame.named(is_own(frame))).collect();
        let doing = thread.doing(is_own, sources);
        if doing == Doing::Computes {
            functions.add(Position::computing(&stack), 1.0);
        }
        is_at_work |= doing == Doing::Computes || stack.iter().any(|frame| frame.is_own);
        threads.add(doing, thread.thread_name.as_deref().unwrap_or_default(), &stack, 1.0);
    }
    ProcessSample { is_at_work, has_lock: dump.iter().any(|thread| thread.owns_gil) }
}

impl PythonThread {
    /// Which frames are the service's own code: those outside of the folders of libraries, or, where there is none, those of packages that are no library.
    fn own_code(&self) -> fn(&PythonFrame) -> bool {
        if self.frames.iter().any(PythonFrame::is_elsewhere) { PythonFrame::is_elsewhere } else { PythonFrame::is_of_no_library }
    }

    fn doing(&self, is_own: fn(&PythonFrame) -> bool, sources: &mut Sources) -> Doing {
        let Some(innermost) = self.frames.first() else { return Doing::Other };
        if self.active || self.owns_gil {
            return Doing::Computes;
        }
        let library = self.frames.iter().take_while(|frame| !is_own(frame));
        let named = |frame: &PythonFrame| {
            let found =
                WAITS.iter().find(|(file, name, _)| frame.filename.ends_with(file) && (name.is_empty() || frame.name.ends_with(name)));
            found.map(|(_, _, doing)| *doing)
        };
        if let Some(doing) = library.map(named).find_map(std::convert::identity) {
            return doing;
        }
        let line = if is_own(innermost) { sources.line(&innermost.filename, innermost.line) } else { String::new() };
        let line = line.to_lowercase();
        LINES.iter().find(|(part, _)| line.contains(part)).map_or(Doing::Other, |(_, doing)| *doing)
    }
}

impl PythonFrame {
    /// Outside of the folders of the language and of installed packages.
    fn is_elsewhere(&self) -> bool {
        !LANGUAGE.iter().chain(PACKAGES).any(|part| self.filename.contains(part)) && !self.is_launcher()
    }

    /// The script by which a package manager starts a program, as `/usr/local/bin/gunicorn`.
    fn is_launcher(&self) -> bool {
        self.name == "<module>" && self.filename.rsplit_once("/bin/").is_some_and(|(_, file)| !file.contains(['/', '.']))
    }

    /// In a package, or a module without one, that is no common library.
    fn is_of_no_library(&self) -> bool {
        let inside = PACKAGES.iter().find_map(|folder| self.filename.rsplit_once(folder));
        let package = inside.and_then(|(_, path)| path.split('/').next()).map(|package| package.trim_end_matches(".py"));
        package.is_some_and(|package| LIBRARIES.split_whitespace().all(|library| library != package))
    }

    fn named(&self, is_own: bool) -> Frame {
        let file = self.short_filename.as_deref().unwrap_or(&self.filename);
        Frame { function: format!("{} {}", self.name, file.rsplit('/').next().unwrap_or(file)), is_own }
    }
}

impl Sources {
    /// Empty if the file cannot be read, for example for a process in a container.
    fn line(&mut self, file: &str, line: i64) -> String {
        if !self.files.contains_key(file) {
            if self.files.len() >= FILES_MAX {
                return String::new();
            }
            let is_short = std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= FILE_MAX);
            let text = if is_short { std::fs::read_to_string(file).unwrap_or_default() } else { String::new() };
            self.files.insert(file.to_owned(), text.lines().map(str::to_owned).collect());
        }
        let index = usize::try_from(line.saturating_sub(1)).ok();
        index.and_then(|index| self.files.get(file)?.get(index).cloned()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn thread(files: &[(&str, &str)]) -> PythonThread {
        let frame = |(name, filename): &(&str, &str)| PythonFrame {
            name: (*name).to_owned(),
            filename: (*filename).to_owned(),
            short_filename: None,
            line: 1,
        };
        PythonThread { thread_name: None, active: false, owns_gil: false, frames: files.iter().map(frame).collect() }
    }

    fn own(files: &[(&str, &str)]) -> Vec<String> {
        let thread = thread(files);
        let is_own = thread.own_code();
        thread.frames.iter().filter(|frame| is_own(frame)).map(|frame| frame.name.clone()).collect()
    }

    const POOL: (&str, &str) = ("_do_get", "/venv/lib/python3.12/site-packages/sqlalchemy/pool/impl.py");
    const SERVER: (&str, &str) = ("run", "/venv/lib/python3.12/site-packages/gunicorn/workers/gthread.py");
    const LOCK: (&str, &str) = ("acquire", "/usr/lib/python3.12/threading.py");

    /// MLflow by pip: no frame is outside of the libraries' folder, and such threads once counted as idle.
    #[test]
    fn a_service_that_is_an_installed_package_has_its_own_code() {
        let search = ("search_runs", "/venv/lib/python3.12/site-packages/mlflow/server/handlers.py");
        assert_eq!(own(&[LOCK, POOL, search, SERVER]), ["search_runs"]);
        assert_eq!(thread(&[LOCK, POOL, search, SERVER]).doing(PythonFrame::is_of_no_library, &mut Sources::default()), Doing::Member);
        // A synchronous worker of gunicorn, whose stack begins at the launcher.
        let launcher = ("<module>", "/venv/bin/gunicorn");
        assert_eq!((own(&[POOL, search, SERVER, launcher]), own(&[SERVER, launcher])), (vec!["search_runs".to_owned()], Vec::new()));
        // A module without a package.
        assert_eq!(own(&[POOL, ("buy", "/usr/lib/python3/dist-packages/shop.py"), SERVER]), ["buy"]);
        // With code elsewhere, installed packages are libraries.
        let (listing, plugin) = (("listing", "/srv/shop/app.py"), ("filtered", "/venv/lib/python3.12/site-packages/shop_filters/core.py"));
        assert_eq!(own(&[POOL, plugin, listing, SERVER]), ["listing"]);
        // A worker of the server that waits for a request serves none.
        assert_eq!(own(&[LOCK, ("get", "/usr/lib/python3.12/queue.py"), SERVER]), Vec::<String>::new());
    }

    /// Line numbers are the dump's word: the smallest one once overflowed.
    #[test]
    fn a_line_that_no_file_has_is_empty() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"first\nsecond\n").unwrap();
        let path = file.path().to_str().unwrap();
        let mut sources = Sources::default();
        let lines = [i64::MIN, -1, 0, 1, 2, 3, i64::MAX].map(|line| sources.line(path, line));
        assert_eq!(lines, ["", "", "", "first", "second", "", ""]);
    }
}
