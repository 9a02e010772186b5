//! Tables that fit the width: columns of low priority are left out, then the first column is shortened in the middle.

use super::style::{Paint, Style, width_of};

/// A column's head. `keep` is the order in which columns are left out when there is no room: the highest number first, 0 never. A column with another
/// number than 0 is also left out if all its cells are empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnHead {
    pub(crate) title: &'static str,
    pub(crate) keep: u8,
    pub(crate) left: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct TextCell {
    pub(crate) text: String,
    pub(crate) paint: Option<Paint>,
}

impl From<String> for TextCell {
    fn from(text: String) -> Self {
        TextCell { text, paint: None }
    }
}

#[derive(Debug)]
pub(crate) enum Row {
    Cells(Vec<TextCell>),
    /// A heading between rows.
    Heading(String),
    /// A title like that of the first column, after a blank line.
    Section(&'static str),
}

#[derive(Debug)]
pub(crate) struct TextTable {
    pub(crate) heads: Vec<ColumnHead>,
    pub(crate) rows: Vec<Row>,
}

const GAP: usize = 2;
/// The first column is not narrower than this while another column can be left out. Columns.
const NAME_MIN: usize = 24;

impl TextTable {
    pub(crate) fn render(&self, style: &Style) -> String {
        let natural: Vec<usize> = (0..self.heads.len()).map(|index| self.natural_width(index)).collect();
        let (shown, name_width) = self.fit(&natural, *style);
        let mut out = String::new();
        let head: Vec<TextCell> = self.heads.iter().map(|head| TextCell { text: head.title.to_owned(), paint: Some(Paint::Dim) }).collect();
        self.line(&head, &natural, &shown, name_width, style, &mut out);
        for row in &self.rows {
            match row {
                Row::Cells(cells) => self.line(cells, &natural, &shown, name_width, style, &mut out),
                Row::Heading(text) => {
                    out.push_str(&format!("{}\n", style.paint(Paint::Bold, &style.name(text, style.width))));
                }
                Row::Section(title) => out.push_str(&format!("\n{}\n", style.paint(Paint::Dim, title))),
            }
        }
        out
    }

    fn natural_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => cells.get(index).map(|cell| width_of(&cell.text)),
            Row::Heading(_) | Row::Section(_) => None,
        });
        cells.chain([width_of(self.heads[index].title)]).max().unwrap_or(0)
    }

    fn is_empty(&self, index: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => cells.get(index),
            Row::Heading(_) | Row::Section(_) => None,
        });
        cells.all(|cell| cell.text.is_empty())
    }

    /// Which columns are shown, and the width of the first one.
    fn fit(&self, natural: &[usize], Style { width, whole_names, .. }: Style) -> (Vec<bool>, usize) {
        let wanted = natural[0].min(NAME_MIN);
        let mut shown: Vec<bool> = (0..self.heads.len()).map(|index| self.heads[index].keep == 0 || !self.is_empty(index)).collect();
        loop {
            let others: usize = (1..shown.len()).filter(|index| shown[*index]).map(|index| natural[index] + GAP).sum();
            let left = width.saturating_sub(others);
            let goes =
                (1..shown.len()).filter(|index| shown[*index] && self.heads[*index].keep > 0).max_by_key(|index| self.heads[*index].keep);
            match goes {
                Some(index) if left < wanted => shown[index] = false,
                _ if whole_names => return (shown, natural[0]),
                _ => return (shown, left.clamp(4, natural[0].max(4))),
            }
        }
    }

    fn line(&self, cells: &[TextCell], natural: &[usize], shown: &[bool], name_width: usize, style: &Style, out: &mut String) {
        let mut line = String::new();
        for (index, cell) in cells.iter().enumerate().filter(|(index, _)| shown[*index]) {
            let text = if index == 0 { style.name(&cell.text, name_width) } else { cell.text.clone() };
            let column_width = if index == 0 { name_width } else { natural[index] };
            let padding = " ".repeat(column_width.saturating_sub(width_of(&text)));
            if index > 0 {
                line.push_str(&" ".repeat(GAP));
            }
            let painted = cell.paint.map_or_else(|| text.clone(), |paint| style.paint(paint, &text));
            if self.heads[index].left {
                line.push_str(&painted);
                line.push_str(&padding);
            } else {
                line.push_str(&padding);
                line.push_str(&painted);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_content_is_left_out_unless_it_never_gives_way() {
        let heads = [("Name", 0), ("Count", 0), ("Limit", 3), ("Load", 2)];
        let heads = heads.map(|(title, keep)| ColumnHead { title, keep, left: false }).to_vec();
        let row = |load: &str| Row::Cells(["CPU", "", "", load].map(|text| TextCell::from(text.to_owned())).to_vec());
        let table = TextTable { heads, rows: vec![row(""), Row::Section("More"), row("5 %")] };
        let text = table.render(&Style::plain(100));
        assert!(text.contains("Count") && text.contains("Load") && !text.contains("Limit"), "{text}");
    }
}
