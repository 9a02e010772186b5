//! One connection to an inspector: commands and their results, and the events in between (Chrome DevTools Protocol over a WebSocket).

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::error::NodeError;

/// Larger messages end the connection. A one-second profile has about 100 kB. Bytes.
const MESSAGE_MAX: usize = 32 << 20;
/// Events that wait to be taken; older ones are discarded.
const EVENTS_MAX: usize = 64;

pub(super) struct InspectorSession {
    stream: WebSocketStream<TcpStream>,
    last_id: u64,
    events: Vec<(String, Value)>,
}

impl InspectorSession {
    /// # Errors
    /// When there is no WebSocket at the address.
    pub(super) async fn open(address: SocketAddr, path: &str) -> Result<Self, NodeError> {
        let connected = TcpStream::connect(address).await.map_err(NodeError::Connect)?;
        let config = WebSocketConfig::default().max_message_size(Some(MESSAGE_MAX)).max_frame_size(Some(MESSAGE_MAX));
        let url = format!("ws://{address}{path}");
        let (stream, _) = tokio_tungstenite::client_async_with_config(url, connected, Some(config)).await?;
        Ok(Self { stream, last_id: 0, events: Vec::new() })
    }

    /// Sends a command and waits for its result.
    ///
    /// # Errors
    /// When the connection ends, or the command fails.
    pub(super) async fn command(&mut self, method: &str, parameters: Value) -> Result<Value, NodeError> {
        self.last_id += 1;
        let id = self.last_id;
        let text = json!({ "id": id, "method": method, "params": parameters }).to_string();
        self.stream.send(Message::text(text)).await?;
        loop {
            let mut message = self.message().await?;
            if message.get("id").and_then(Value::as_u64) == Some(id) {
                if let Some(problem) = message.get("error") {
                    return Err(NodeError::Command { method: method.to_owned(), problem: problem.to_string() });
                }
                return Ok(message.get_mut("result").map(Value::take).unwrap_or_default());
            }
            // Results of abandoned commands are skipped.
            if let Some(method) = message.get("method").and_then(Value::as_str).map(str::to_owned) {
                if self.events.len() >= EVENTS_MAX {
                    self.events.remove(0);
                }
                self.events.push((method, message.get_mut("params").map(Value::take).unwrap_or_default()));
            }
        }
    }

    /// Evaluates JavaScript in the process and returns its value.
    ///
    /// # Errors
    /// As [`InspectorSession::command`], and when it throws.
    pub(super) async fn evaluate(&mut self, expression: &str) -> Result<Value, NodeError> {
        // `require` is one of the command line's functions.
        let parameters = json!({ "expression": expression, "includeCommandLineAPI": true, "returnByValue": true, "silent": true });
        let mut result = self.command("Runtime.evaluate", parameters).await?;
        if let Some(thrown) = result.get("exceptionDetails") {
            let text = thrown.pointer("/exception/description").or_else(|| thrown.get("text")).and_then(Value::as_str).unwrap_or_default();
            return Err(NodeError::Thrown(text.lines().next().unwrap_or_default().to_owned()));
        }
        Ok(result.pointer_mut("/result/value").map(Value::take).unwrap_or_default())
    }

    /// Events of one name since the last call; all other events are discarded.
    pub(super) fn take_events(&mut self, method: &str) -> Vec<Value> {
        std::mem::take(&mut self.events).into_iter().filter(|(name, _)| name == method).map(|(_, parameters)| parameters).collect()
    }

    async fn message(&mut self) -> Result<Value, NodeError> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).map_err(NodeError::NotJson),
                Some(Ok(Message::Close(_))) | None => return Err(NodeError::Gone),
                Some(Ok(_)) => {}
                Some(Err(problem)) => return Err(problem.into()),
            }
        }
    }

    /// Ends the connection.
    pub(super) async fn close(mut self) {
        // A peer that has disconnected already needs no close frame.
        let _ = self.stream.close(None).await;
    }
}
