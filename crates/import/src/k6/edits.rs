//! Changes of a text that nest: what replaces a node may quote parts of it, in which further changes apply.

use oxc_semantic::NodeId;
use oxc_span::Span;

use super::tree::Tree;

/// A part of what replaces something.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Text(String),
    /// What stands there, with its own changes.
    Source(Span),
}

/// A replacement, put together part by part.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces(pub(super) Vec<Piece>);

impl Pieces {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(super) fn node(self, tree: &Tree<'_>, id: NodeId) -> Self {
        self.span(tree.span(id))
    }

    pub(super) fn span(mut self, span: Span) -> Self {
        self.0.push(Piece::Source(span));
        self
    }

    pub(super) fn then(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// With something between them.
    pub(super) fn joined(list: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut all = Self::new();
        for (index, pieces) in list.into_iter().enumerate() {
            all = if index > 0 { all.text(between) } else { all }.then(pieces);
        }
        all
    }
}

impl From<&str> for Pieces {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Pieces {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}

/// All changes of a file. Of two of the same stretch, the earlier is the outer one.
#[derive(Default)]
pub(super) struct Edits(Vec<(Span, Pieces)>);

impl Edits {
    pub(super) fn replace(&mut self, span: Span, pieces: Pieces) {
        self.0.push((span, pieces));
    }

    pub(super) fn insert(&mut self, at: u32, pieces: Pieces) {
        self.0.push((Span::empty(at), pieces));
    }

    /// Whether something replaces exactly this.
    pub(super) fn has(&self, span: Span) -> bool {
        self.0.iter().any(|(known, _)| *known == span)
    }

    /// What replaces something, with the changes of what it quotes.
    pub(super) fn written(&self, text: &str, pieces: &Pieces) -> String {
        let part = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Source(span) => self.render(text, *span),
        };
        pieces.0.iter().map(part).collect()
    }

    /// A stretch of the text with its changes.
    pub(super) fn render(&self, text: &str, span: Span) -> String {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by_key(|&index| {
            let span = self.0[index].0;
            // What is put in front of something comes before what replaces it.
            (span.start, span.start != span.end, u32::MAX - span.end, index)
        });
        let mut out = String::new();
        self.render_into(&mut out, text, span, &order, None);
        out
    }

    fn render_into(&self, out: &mut String, text: &str, span: Span, order: &[usize], outer: Option<usize>) {
        let inside = |index: usize| {
            let own = self.0[index].0;
            let fits = if own.start == own.end {
                own.start >= span.start && own.start < span.end
            } else {
                own.start >= span.start && own.end <= span.end
            };
            // A replacement that quotes the whole of what it replaces must not meet itself again, nor what encloses it.
            fits && outer.is_none_or(|outer| index != outer && !(own == self.0[outer].0 && index < outer))
        };
        let mut at = span.start;
        let from = order.partition_point(|&index| self.0[index].0.start < span.start);
        for &index in order[from..].iter().take_while(|&&index| self.0[index].0.start < span.end) {
            let (own, pieces) = &self.0[index];
            if own.start < at || !inside(index) {
                continue;
            }
            out.push_str(&text[at as usize..own.start as usize]);
            for piece in &pieces.0 {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Source(inner) => self.render_into(out, text, *inner, order, Some(index)),
                }
            }
            at = own.end;
        }
        out.push_str(&text[at as usize..span.end as usize]);
    }
}
