//! The protocol over standard input and output, for clients that start the server.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use rmcp::ServiceExt;

use crate::server::{ServeError, ToolServer};

/// Serves one client until it closes standard input. Calls in progress are cancelled then.
///
/// # Errors
/// The streams fail, or the client speaks another protocol.
pub async fn serve_stdio<T: Send + Sync + 'static>(server: ToolServer<T>) -> Result<(), ServeError> {
    // Standard input may be a file, a pipe or a terminal, which an event loop cannot wait for alike. Two threads copy it to a socket, which it can.
    let (inside, outside) = UnixStream::pair()?;
    inside.set_nonblocking(true)?;
    let (to_server, from_server) = (outside.try_clone()?, outside);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        copy(std::io::stdin().lock(), &to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    })?;
    let written = std::thread::Builder::new().name("stdout".to_owned()).spawn(move || copy(&from_server, std::io::stdout().lock()))?;
    let closing = server.clone();
    let ended = match server.serve(tokio::net::UnixStream::from_std(inside)?).await {
        Ok(service) => service.waiting().await.map(drop).map_err(|problem| ServeError::Handshake(problem.to_string())),
        Err(problem) => Err(ServeError::Handshake(problem.to_string())),
    };
    closing.close();
    // The last response reaches the client before the process ends.
    let _ = tokio::task::spawn_blocking(move || written.join()).await;
    ended
}

/// Copies to the end, each piece at once.
fn copy(mut from: impl Read, mut to: impl Write) {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer) {
            Err(problem) if problem.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(count) => {
                if to.write_all(&buffer[..count]).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
        }
    }
}
