//! How long `loadstone run URL` takes from its start to its first request.

use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};

use super::measured::Spread;

const TURNS: usize = 9;
const LIMIT: Duration = Duration::from_secs(20);

/// Median over several starts, from before the process exists to the first byte of its first request. Milliseconds.
pub(super) fn first_request_ms(binary: &Path) -> Result<f64> {
    let times: Vec<f64> = (0..TURNS).map(|_| one_start_ms(binary)).collect::<Result<_>>()?;
    Ok(Spread::of(times.into_iter()).median)
}

fn one_start_ms(binary: &Path) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    let begun = SystemTime::now();
    let mut command = Command::new(binary);
    command.args(["run", &url, "--users", "1", "--for", "1s"]).current_dir(std::env::temp_dir());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting loadstone")?;
    // Connections that close without a byte (to see whether the target is there) are not requests.
    let first_byte = loop {
        let read = accept(&listener, &mut child).and_then(|mut stream| {
            stream.set_read_timeout(Some(LIMIT))?;
            stream.read(&mut [0]).context("the first request")
        });
        match read {
            Ok(0) => {}
            other => break other.map(drop),
        }
    };
    let took = begun.elapsed()?;
    // It may have ended by itself.
    let _ended = child.kill();
    child.wait()?;
    first_byte.map(|()| took.as_secs_f64() * 1e3)
}

/// The first connection; an error instead of a wait without end when the child gives up.
fn accept(listener: &TcpListener, child: &mut Child) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let begun = SystemTime::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = child.try_wait()? {
            bail!("loadstone ended with {status} before its first request");
        }
        if begun.elapsed()? > LIMIT {
            bail!("no connection within {LIMIT:?}");
        }
        thread::sleep(Duration::from_micros(100));
    }
}
