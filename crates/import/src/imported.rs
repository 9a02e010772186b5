//! What goes into an import and what comes out of it.

use serde::Serialize;

/// What becomes of parts that not everybody wants.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// Keep think times.
    pub pauses: bool,
    /// Keep static resources (styles, scripts, images, fonts).
    pub assets: bool,
    /// Keep requests to other hosts than the first.
    pub all_hosts: bool,
}

/// What is imported.
pub struct Input<'a> {
    /// Of the file, as messages show it.
    pub name: &'a str,
    pub text: &'a str,
    /// From the folder of the test to that of the file; empty where they are the same.
    pub folder: &'a str,
    /// Reads a further file that this one names, by its path from this one's folder.
    pub read: &'a (dyn Fn(&str) -> Option<String> + Sync),
    pub choices: Choices,
}

/// What came out.
#[derive(Debug)]
pub struct ImportedTest {
    /// The test.
    pub text: String,
    pub notes: Vec<Note>,
}

impl ImportedTest {
    /// Whether the test does everything that its source does.
    pub fn is_complete(&self) -> bool {
        self.notes.iter().all(|note| note.kind != NoteKind::Lost)
    }
}

/// What somebody should know of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    pub kind: NoteKind,
    /// Of the file that was imported, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    pub text: String,
}

impl Note {
    pub(crate) fn left_out(text: impl Into<String>) -> Self {
        Self { kind: NoteKind::LeftOut, line: None, text: text.into() }
    }

    pub(crate) fn lost(text: impl Into<String>) -> Self {
        Self { kind: NoteKind::Lost, line: None, text: text.into() }
    }

    pub(crate) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }

    pub(crate) fn changed(text: impl Into<String>) -> Self {
        Self { kind: NoteKind::Changed, line: None, text: text.into() }
    }
}

/// What a note says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The source sends, waits for or checks something that the test does not: the import is incomplete.
    Lost,
    /// Something is missing from the test by a documented rule or by choice.
    LeftOut,
    /// Something is there in another way.
    Changed,
}
