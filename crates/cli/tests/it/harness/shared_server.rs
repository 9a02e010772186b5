//! A server that test processes share: the first one starts it, and it ends a few seconds after the last one has ended.
//!
//! nextest runs each test in its own process, so a server in a `static` would be started once per test. Start with [`join`]. Three locked
//! files coordinate the processes, because the kernel releases a lock however its holder ends: `users` is shared by every process that uses the
//! server, `start` is held while one is started or ended, and `host` is held by the shell that runs it.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How long a server may take to start on a busy machine, in steps of [`STEP`].
const START_LIMIT: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(20);
/// A port that was free may be taken before the server binds it.
const ATTEMPTS: u32 = 3;

/// Runs the server, with a FIFO as its input, until no test process holds the lock on `users`. `$1` is the folder, the rest the command.
const HOST: &str = r#"
folder=$1; shift
exec 8>>"$folder.host"; flock 8
mkfifo "$folder/input"
setpriv --pdeathsig TERM -- "$@" <>"$folder/input" >"$folder/output" 2>"$folder/errors" 8>&- &
server=$!
while sleep 4 8>&-; kill -0 $server; do
  if flock --nonblock "$folder.start" flock --nonblock "$folder.users" rm "$folder/ready" 8>&-; then
    kill -TERM $server
    (sleep 20; kill -KILL $server) 8>&- &
    wait $server
    kill $!
    rm -rf "$folder"
    exit
  fi
done
"#;

/// The folder of the running server of this name, or of a new one, which runs at least until this process ends. It has what `prepare` put there
/// before it returned the server's command, and the server's `output`, `errors` and `input`, a FIFO. `is_ready` gets the folder.
pub(crate) fn join(name: &str, prepare: impl Fn(&Path) -> Command, is_ready: impl Fn(&Path) -> bool) -> PathBuf {
    let folder = folder(name);
    let users = open(&folder, "users");
    users.lock_shared().expect("locking the list of users");
    // Stays open and locked until the process ends.
    std::mem::forget(users);
    let start = open(&folder, "start");
    start.lock().expect("locking the start of the server");
    let runs = open(&folder, "host").try_lock().is_err() && folder.join("ready").exists();
    if !runs {
        let started = (0..ATTEMPTS).any(|_| start_in(&folder, &prepare, &is_ready));
        let errors = fs::read_to_string(folder.join("errors")).unwrap_or_default();
        assert!(started, "{name} did not start; `cargo xtask setup` installs what the tests need\n{errors}");
    }
    folder
}

/// One folder per target folder: checkouts share no servers. Not in the target folder, which the user of a database may be unable to enter.
fn folder(name: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (env!("CARGO_TARGET_TMPDIR"), env!("CARGO_MANIFEST_DIR")).hash(&mut hasher);
    let parent = std::env::temp_dir().join(format!("loadstone-tests-{:016x}", hasher.finish()));
    fs::create_dir_all(&parent).expect("a folder for shared servers");
    parent.join(name)
}

/// `NAME.users` and so on, next to the folder, which is created and deleted with the server.
fn open(folder: &Path, lock: &str) -> File {
    let file = OpenOptions::new().create(true).append(true).open(folder.with_extension(lock));
    file.expect("a lock file of a shared server")
}

/// Starts the server in an empty folder; `false` if it ends before it is ready.
#[expect(clippy::zombie_processes, reason = "the server outlives this process")]
fn start_in(folder: &Path, prepare: impl Fn(&Path) -> Command, is_ready: impl Fn(&Path) -> bool) -> bool {
    // The host of the previous server may still be removing its folder.
    let host = open(folder, "host");
    host.lock().expect("waiting for the end of the previous server");
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder for the server");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("the folder of the server");
    drop(host);
    let server = prepare(folder);
    let mut command = Command::new("setsid");
    command.args(["sh", "-c", HOST, "sh"]).arg(folder).arg(server.get_program()).args(server.get_args());
    server.get_current_dir().map(|current| command.current_dir(current));
    for (name, value) in server.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut host = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("setsid starts");
    for _ in 0..START_LIMIT.as_millis() / STEP.as_millis() {
        if is_ready(folder) {
            fs::write(folder.join("ready"), "").expect("marking the server as ready");
            return true;
        }
        if host.try_wait().expect("asking for the end of the server").is_some() {
            return false;
        }
        thread::sleep(STEP);
    }
    let _ended = (host.kill(), host.wait());
    false
}
