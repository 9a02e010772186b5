//! Values and chains of calls, as far as a recorded simulation is made of them.

use std::collections::HashMap;

use super::tokens::{PlacedWord, SourceWord};

/// What stands for a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Text(String),
    Number(f64),
    /// `http("Home").get("/")`: at least one call.
    Chain(Vec<ChainCall>),
    /// `"name" -> "value"`.
    Pair(Box<Expression>, Box<Expression>),
    Sum(Vec<Expression>),
    /// `{ "name": "value" }` of JavaScript.
    Object(Vec<(String, Expression)>),
    /// Code: a function, a block.
    Code,
}

/// One link of a chain: a name, and what it is called with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChainCall {
    pub(super) name: String,
    /// `None` where nothing is called.
    pub(super) arguments: Option<Vec<Expression>>,
    pub(super) line: usize,
}

/// Named values of a simulation, and what it sets up.
pub(super) struct Source {
    pub(super) values: HashMap<String, Expression>,
    /// Arguments of `setUp`.
    pub(super) set_up: Vec<Expression>,
}

/// How deep calls may stand in each other.
const DEPTH_MAX: usize = 200;

impl Source {
    pub(super) fn read(tokens: &[PlacedWord]) -> Self {
        let mut source = Self { values: HashMap::new(), set_up: Vec::new() };
        let mut at = 0;
        while at < tokens.len() {
            if let Some((name, value)) = declared(&tokens[at..]) {
                let mut parser = Parser { tokens, at: at + value, depth: 0 };
                let value = parser.expression();
                source.values.entry(name).or_insert(value);
            } else if is_name(&tokens[at..], "setUp") && is_sign(&tokens[at + 1..], '(') {
                let mut parser = Parser { tokens, at: at + 1, depth: 0 };
                source.set_up.extend(parser.arguments());
                at = parser.at;
                continue;
            }
            at += 1;
        }
        source
    }
}

fn is_name(tokens: &[PlacedWord], name: &str) -> bool {
    matches!(tokens.first(), Some(PlacedWord { word: SourceWord::Name(known), .. }) if known == name)
}

fn is_sign(tokens: &[PlacedWord], sign: char) -> bool {
    matches!(tokens.first(), Some(PlacedWord { word: SourceWord::Sign(known), .. }) if *known == sign)
}

/// `val name = …`, `val name: Type = …`, `Type name = …`: the name, and how many words stand before the value.
fn declared(tokens: &[PlacedWord]) -> Option<(String, usize)> {
    let first = match &tokens.first()?.word {
        SourceWord::Name(first) => first.as_str(),
        SourceWord::Sign('>' | ']') => "",
        _ => return None,
    };
    if matches!(first, "val" | "var" | "const" | "let" | "def") {
        let SourceWord::Name(name) = &tokens.get(1)?.word else { return None };
        let to = tokens.iter().take(16).position(|token| token.word == SourceWord::Sign('='))?;
        let stops = |token: &PlacedWord| matches!(&token.word, SourceWord::Sign(';' | '{') | SourceWord::Text(_) | SourceWord::Number(_));
        return (!tokens[..to].iter().any(stops)).then(|| (name.clone(), to + 1));
    }
    // A type stands before the name: a name, or what ends its parameters.
    let SourceWord::Name(name) = &tokens.get(1).filter(|_| is_sign(tokens.get(2..).unwrap_or_default(), '='))?.word else {
        return None;
    };
    Some((name.clone(), 3))
}

struct Parser<'t> {
    tokens: &'t [PlacedWord],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn word(&self) -> Option<&SourceWord> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at.min(self.tokens.len().saturating_sub(1))).map_or(0, |token| token.line)
    }

    fn sign(&mut self, sign: char) -> bool {
        let found = self.word() == Some(&SourceWord::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expression(&mut self) -> Expression {
        self.depth += 1;
        let left = if self.depth > DEPTH_MAX { self.code() } else { self.sum() };
        let pairs = self.word() == Some(&SourceWord::Sign('→')) || matches!(self.word(), Some(SourceWord::Name(name)) if name == "to");
        let expression = if pairs {
            self.at += 1;
            Expression::Pair(Box::new(left), Box::new(self.sum()))
        } else if self.word() == Some(&SourceWord::Sign('⇒')) {
            self.at += 1;
            self.sum();
            Expression::Code
        } else {
            left
        };
        self.depth -= 1;
        expression
    }

    fn sum(&mut self) -> Expression {
        let first = self.operand();
        let mut all = vec![first];
        while self.sign('+') {
            all.push(self.operand());
        }
        if all.len() == 1 { all.remove(0) } else { Expression::Sum(all) }
    }

    fn operand(&mut self) -> Expression {
        while matches!(self.word(), Some(SourceWord::Name(name)) if name == "new") {
            self.at += 1;
        }
        match self.word().cloned() {
            Some(SourceWord::Text(text)) => {
                self.at += 1;
                // `"…".formatted(…)`, `"…".repeat(2)`: a text that is made.
                if self.word() == Some(&SourceWord::Sign('.'))
                    && matches!(self.tokens.get(self.at + 1).map(|t| &t.word), Some(SourceWord::Name(_)))
                {
                    self.chain();
                    return Expression::Code;
                }
                Expression::Text(text)
            }
            Some(SourceWord::Number(number)) => self.quantity(number),
            Some(SourceWord::Name(_)) => self.chain(),
            Some(SourceWord::Sign('(')) => {
                let mut inside = self.arguments();
                if inside.len() == 1 { inside.remove(0) } else { Expression::Code }
            }
            Some(SourceWord::Sign('{')) => self.object().unwrap_or_else(|| self.code()),
            _ => self.code(),
        }
    }

    /// `5`, `500 milliseconds`, `500.milliseconds`: a length of time is in seconds.
    fn quantity(&mut self, number: f64) -> Expression {
        self.at += 1;
        let dotted = usize::from(self.word() == Some(&SourceWord::Sign('.')));
        let unit = match self.tokens.get(self.at + dotted).map(|token| &token.word) {
            Some(SourceWord::Name(unit)) => unit.as_str(),
            _ => return Expression::Number(number),
        };
        let scale = match unit {
            "milliseconds" | "millis" | "millisecond" => 0.001,
            "seconds" | "second" => 1.0,
            "minutes" | "minute" => 60.0,
            _ => return Expression::Number(number),
        };
        self.at += dotted + 1;
        Expression::Number(number * scale)
    }

    fn chain(&mut self) -> Expression {
        let mut calls = Vec::new();
        loop {
            if self.sign('.') && calls.is_empty() {
                calls.push(ChainCall { name: String::new(), arguments: None, line: self.line() });
            }
            let (line, Some(SourceWord::Name(name))) = (self.line(), self.word().cloned()) else { break };
            self.at += 1;
            let mut arguments = None;
            loop {
                match self.word() {
                    Some(SourceWord::Sign('(')) => arguments.get_or_insert_with(Vec::new).extend(self.arguments()),
                    Some(SourceWord::Sign('{')) => {
                        self.code();
                        arguments.get_or_insert_with(Vec::new).push(Expression::Code);
                    }
                    _ => break,
                }
            }
            calls.push(ChainCall { name, arguments, line });
            // `rampUsers(10) during 5` of Scala, on one line.
            let infix = matches!(self.word(), Some(SourceWord::Name(name)) if matches!(name.as_str(), "during" | "over"));
            if infix {
                let (line, name) = (self.line(), self.word().cloned());
                self.at += 1;
                let argument = self.operand();
                if let Some(SourceWord::Name(name)) = name {
                    calls.push(ChainCall { name, arguments: Some(vec![argument]), line });
                }
            }
            if self.word() != Some(&SourceWord::Sign('.')) {
                break;
            }
        }
        if calls.is_empty() { self.code() } else { Expression::Chain(calls) }
    }

    /// Between parentheses, apart at their commas.
    fn arguments(&mut self) -> Vec<Expression> {
        let mut all = Vec::new();
        if !self.sign('(') {
            return all;
        }
        while self.at < self.tokens.len() && !self.sign(')') {
            let before = self.at;
            all.push(self.expression());
            self.skip_to_comma();
            // Whatever it was, reading goes on behind it.
            self.at += usize::from(self.at == before);
        }
        all
    }

    /// Skips what an expression has left before the next comma of its list, and that comma.
    fn skip_to_comma(&mut self) {
        let mut depth = 0_usize;
        while let Some(word) = self.word() {
            match word {
                SourceWord::Sign('(' | '{' | '[') => depth += 1,
                SourceWord::Sign(')' | '}' | ']') if depth == 0 => return,
                SourceWord::Sign(')' | '}' | ']') => depth -= 1,
                SourceWord::Sign(',') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn object(&mut self) -> Option<Expression> {
        let from = self.at;
        self.at += 1;
        let mut entries = Vec::new();
        while !self.sign('}') {
            let (Some(SourceWord::Text(key) | SourceWord::Name(key)), Some(SourceWord::Sign(':'))) =
                (self.word().cloned(), self.tokens.get(self.at + 1).map(|token| &token.word))
            else {
                self.at = from;
                return None;
            };
            self.at += 2;
            entries.push((key, self.expression()));
            self.skip_to_comma();
        }
        Some(Expression::Object(entries))
    }

    /// Skips a block, or one word.
    fn code(&mut self) -> Expression {
        let mut depth = 0_usize;
        while let Some(word) = self.word() {
            match word {
                SourceWord::Sign('(' | '{' | '[') => depth += 1,
                SourceWord::Sign(')' | '}' | ']') if depth == 0 => break,
                SourceWord::Sign(')' | '}' | ']') => depth -= 1,
                SourceWord::Sign(',' | ';') if depth == 0 => break,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        Expression::Code
    }
}
