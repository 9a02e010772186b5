//! Renderings of a run for people and machines: terminal, HTML, JUnit, Markdown.
//!
//! Read [`ReportView`] first: plain data that every renderer draws, live and finished alike. Deliberately absent: the computation of any number,
//! which is the task of `analysis` (except downsampling for display), and printing. Renderers return strings or write to the writer that they
//! receive.

pub mod access;
mod build;
pub mod capacity;
pub mod comparison;
mod doctor;
mod document;
mod exchange;
pub mod experiment;
mod explanation;
mod failure_sample;
mod html;
mod json;
mod junit;
mod listing;
mod live;
mod markdown;
mod picture;
pub mod terminal;
mod timeline;
pub mod trend;
#[cfg(any(test, feature = "typescript"))]
pub mod typescript;
mod view;
mod words;

pub use build::ViewBuilder;
pub use doctor::{DoctorGrade, DoctorLine, doctor_json, doctor_table};
pub use document::{DOCUMENTS, Document};
pub use exchange::{ExchangeView, ExpectationView, MessageView, ResponseView, check, exchange, message};
pub use explanation::{FindingExplanation, explanation, pages_named};
pub use html::{AnswerSource, history_page, html, live_page};
pub use json::summary_json;
pub use junit::junit;
pub use listing::{RunRow, runs_json, runs_table};
pub use live::{LiveCommand, LiveError, LiveServer, Steering};
pub use markdown::markdown;
pub use picture::{AxisTick, Interval, Tone};
pub use view::{Band, ChartColumn, CloseUp, HeatMap, MarkView, Panel, ReportView, RunState, TestView, Timeline};
pub use words::load as load_in_words;
