//! XPath 1.0 expressions: tokens and grammar (section 3 of the recommendation). The nesting is limited, since the parser recurses.

/// Nested parentheses, predicates and arguments.
const NESTING_MAX: usize = 64;
/// Longest expression. Bytes.
const EXPRESSION_BYTES_MAX: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XPathAxis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Parent,
    Preceding,
    PrecedingSibling,
    Itself,
}

impl XPathAxis {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ancestor" => Self::Ancestor,
            "ancestor-or-self" => Self::AncestorOrSelf,
            "attribute" => Self::Attribute,
            "child" => Self::Child,
            "descendant" => Self::Descendant,
            "descendant-or-self" => Self::DescendantOrSelf,
            "following" => Self::Following,
            "following-sibling" => Self::FollowingSibling,
            "parent" => Self::Parent,
            "preceding" => Self::Preceding,
            "preceding-sibling" => Self::PrecedingSibling,
            "self" => Self::Itself,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeTest {
    /// `None`: `*`. The prefix is empty if there is none.
    Name {
        prefix: String,
        local: Option<String>,
    },
    AnyNode,
    Text,
    Comment,
    Instruction(Option<String>),
}

#[derive(Debug)]
pub(super) struct LocationStep {
    pub(super) axis: XPathAxis,
    pub(super) test: NodeTest,
    pub(super) predicates: Vec<XPathExpression>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Union,
}

#[derive(Debug)]
pub(super) enum Start {
    Root,
    Context,
    Expression(Box<XPathExpression>, Vec<XPathExpression>),
}

#[derive(Debug)]
pub(super) enum XPathExpression {
    /// A chain of operators of one precedence, evaluated from the left. It is a list, so that long chains do not nest.
    Chain(Box<XPathExpression>, Vec<(Operator, XPathExpression)>),
    Negative(Box<XPathExpression>),
    Path(Start, Vec<LocationStep>),
    Literal(String),
    Number(f64),
    Call(String, Vec<XPathExpression>),
}

#[derive(Debug, Clone, PartialEq)]
enum ExpressionToken {
    /// A name with an optional prefix; `*` for any.
    Name(String, Option<String>),
    Axis(XPathAxis),
    Function(String),
    Literal(String),
    Number(f64),
    Operator(Operator),
    Symbol(&'static str),
}

/// Parses an expression. The error states the problem.
pub(super) fn parse(text: &str) -> Result<XPathExpression, String> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(format!("it is longer than {EXPRESSION_BYTES_MAX} bytes"));
    }
    let tokens = tokens(text)?;
    if tokens.is_empty() {
        return Err("it is empty".to_owned());
    }
    let mut parser = ExpressionParser { tokens: &tokens, at: 0, depth: 0 };
    let expression = parser.expression()?;
    if parser.at < tokens.len() {
        return Err("there is something after its end".to_owned());
    }
    Ok(expression)
}

const SYMBOLS: [&str; 10] = ["..", "//", "(", ")", "[", "]", ".", "@", ",", "/"];
const OPERATORS: [(&str, Operator); 9] = [
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("+", Operator::Add),
    ("-", Operator::Subtract),
    ("|", Operator::Union),
];

fn tokens(text: &str) -> Result<Vec<ExpressionToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        // Section 3.7: after an operand, `*` and the four names are operators.
        let after_operand = match tokens.last() {
            None | Some(ExpressionToken::Operator(_) | ExpressionToken::Axis(_) | ExpressionToken::Function(_)) => false,
            Some(ExpressionToken::Symbol(symbol)) => matches!(*symbol, ")" | "]" | "." | ".."),
            Some(_) => true,
        };
        let digits = number_length(rest);
        if digits > 0 {
            tokens.push(ExpressionToken::Number(rest[..digits].parse().map_err(|_| "a number is not valid".to_owned())?));
            rest = rest[digits..].trim_start();
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            tokens.push(ExpressionToken::Symbol(symbol));
            rest = rest[symbol.len()..].trim_start();
        } else if let Some((written, operator)) = OPERATORS.iter().find(|(written, _)| rest.starts_with(written)) {
            tokens.push(ExpressionToken::Operator(*operator));
            rest = rest[written.len()..].trim_start();
        } else if first == '"' || first == '\'' {
            let (literal, after) = rest[1..].split_once(first).ok_or("a quote is not closed")?;
            tokens.push(ExpressionToken::Literal(literal.to_owned()));
            rest = after.trim_start();
        } else if first == '*' {
            tokens.push(if after_operand {
                ExpressionToken::Operator(Operator::Multiply)
            } else {
                ExpressionToken::Name(String::new(), None)
            });
            rest = rest[1..].trim_start();
        } else {
            let (token, after) = named(rest, after_operand)?;
            tokens.push(token);
            rest = after;
        }
    }
    Ok(tokens)
}

fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    match text[whole..].strip_prefix('.') {
        Some(part) if whole > 0 || digits(part) > 0 => whole + 1 + digits(part),
        _ => whole,
    }
}

/// A name, axis, function or named operator.
fn named(text: &str, after_operand: bool) -> Result<(ExpressionToken, &str), String> {
    let (name, after) = split_name(text).ok_or_else(|| format!("{:?} is not expected", text.chars().next().unwrap_or_default()))?;
    if after_operand {
        let operator = match name {
            "and" => Operator::And,
            "or" => Operator::Or,
            "div" => Operator::Divide,
            "mod" => Operator::Remainder,
            other => return Err(format!("\"{other}\" is not an operator")),
        };
        return Ok((ExpressionToken::Operator(operator), after.trim_start()));
    }
    let spaced = after.trim_start();
    if let Some(after) = spaced.strip_prefix("::") {
        let axis = XPathAxis::named(name).ok_or_else(|| format!("there is no axis \"{name}\""))?;
        return Ok((ExpressionToken::Axis(axis), after.trim_start()));
    }
    if let Some(local) = after.strip_prefix(':') {
        if let Some(after) = local.strip_prefix('*') {
            return Ok((ExpressionToken::Name(name.to_owned(), None), after.trim_start()));
        }
        let (local, after) = split_name(local).ok_or_else(|| format!("a name must follow \"{name}:\""))?;
        return Ok((ExpressionToken::Name(name.to_owned(), Some(local.to_owned())), after.trim_start()));
    }
    if spaced.starts_with('(') {
        return Ok((ExpressionToken::Function(name.to_owned()), spaced));
    }
    Ok((ExpressionToken::Name(String::new(), Some(name.to_owned())), spaced))
}

fn split_name(text: &str) -> Option<(&str, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\u{b7}');
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let starts_well = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts_well.then(|| text.split_at(end))
}

struct ExpressionParser<'a> {
    tokens: &'a [ExpressionToken],
    at: usize,
    depth: usize,
}

/// Operators by precedence, weakest first.
const PRECEDENCE: [&[Operator]; 6] = [
    &[Operator::Or],
    &[Operator::And],
    &[Operator::Equal, Operator::NotEqual],
    &[Operator::Less, Operator::LessOrEqual, Operator::Greater, Operator::GreaterOrEqual],
    &[Operator::Add, Operator::Subtract],
    &[Operator::Multiply, Operator::Divide, Operator::Remainder],
];

impl ExpressionParser<'_> {
    fn peek(&self) -> Option<&ExpressionToken> {
        self.tokens.get(self.at)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(ExpressionToken::Symbol(next)) if *next == symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) { Ok(()) } else { Err(format!("\"{symbol}\" is missing")) }
    }

    fn expression(&mut self) -> Result<XPathExpression, String> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(format!("it is nested more than {NESTING_MAX} deep"));
        }
        let expression = self.chain(0);
        self.depth -= 1;
        expression
    }

    fn chain(&mut self, level: usize) -> Result<XPathExpression, String> {
        let Some(operators) = PRECEDENCE.get(level) else { return self.unary() };
        let first = self.chain(level + 1)?;
        let mut further = Vec::new();
        while let Some(ExpressionToken::Operator(operator)) = self.peek()
            && operators.contains(operator)
        {
            let operator = *operator;
            self.at += 1;
            further.push((operator, self.chain(level + 1)?));
        }
        Ok(chained(first, further))
    }

    fn unary(&mut self) -> Result<XPathExpression, String> {
        let mut signs = 0;
        while let Some(ExpressionToken::Operator(Operator::Subtract)) = self.peek() {
            self.at += 1;
            signs += 1;
        }
        let first = self.path()?;
        let mut further = Vec::new();
        while let Some(ExpressionToken::Operator(Operator::Union)) = self.peek() {
            self.at += 1;
            further.push((Operator::Union, self.path()?));
        }
        let union = chained(first, further);
        Ok(match signs {
            0 => union,
            _ if signs % 2 == 0 => XPathExpression::Negative(Box::new(XPathExpression::Negative(Box::new(union)))),
            _ => XPathExpression::Negative(Box::new(union)),
        })
    }

    fn path(&mut self) -> Result<XPathExpression, String> {
        if self.take("//") {
            let mut steps = vec![descendants()];
            self.steps(&mut steps)?;
            return Ok(XPathExpression::Path(Start::Root, steps));
        }
        if self.take("/") {
            let mut steps = Vec::new();
            if self.starts_step() {
                self.steps(&mut steps)?;
            }
            return Ok(XPathExpression::Path(Start::Root, steps));
        }
        if self.starts_step() {
            let mut steps = Vec::new();
            self.steps(&mut steps)?;
            return Ok(XPathExpression::Path(Start::Context, steps));
        }
        let primary = self.primary()?;
        let predicates = self.predicates()?;
        let mut steps = Vec::new();
        if self.take("//") {
            steps.push(descendants());
            self.steps(&mut steps)?;
        } else if self.take("/") {
            self.steps(&mut steps)?;
        }
        if predicates.is_empty() && steps.is_empty() {
            return Ok(primary);
        }
        Ok(XPathExpression::Path(Start::Expression(Box::new(primary), predicates), steps))
    }

    fn starts_step(&self) -> bool {
        match self.peek() {
            Some(ExpressionToken::Name(..) | ExpressionToken::Axis(_) | ExpressionToken::Symbol("." | ".." | "@")) => true,
            Some(ExpressionToken::Function(name)) => is_node_type(name),
            _ => false,
        }
    }

    fn steps(&mut self, steps: &mut Vec<LocationStep>) -> Result<(), String> {
        loop {
            steps.push(self.step()?);
            if self.take("//") {
                steps.push(descendants());
            } else if !self.take("/") {
                return Ok(());
            }
        }
    }

    fn step(&mut self) -> Result<LocationStep, String> {
        if self.take(".") {
            return Ok(LocationStep { axis: XPathAxis::Itself, test: NodeTest::AnyNode, predicates: Vec::new() });
        }
        if self.take("..") {
            return Ok(LocationStep { axis: XPathAxis::Parent, test: NodeTest::AnyNode, predicates: Vec::new() });
        }
        let axis = if let Some(&ExpressionToken::Axis(axis)) = self.peek() {
            self.at += 1;
            axis
        } else if self.take("@") {
            XPathAxis::Attribute
        } else {
            XPathAxis::Child
        };
        let token = self.peek().cloned().ok_or("it ends where a name is expected")?;
        self.at += 1;
        let test = match token {
            ExpressionToken::Name(prefix, local) => NodeTest::Name { prefix, local },
            ExpressionToken::Function(kind) if is_node_type(&kind) => self.node_type(&kind)?,
            _ => return Err("a name is missing".to_owned()),
        };
        Ok(LocationStep { axis, test, predicates: self.predicates()? })
    }

    fn node_type(&mut self, kind: &str) -> Result<NodeTest, String> {
        self.expect("(")?;
        let test = match kind {
            "node" => NodeTest::AnyNode,
            "text" => NodeTest::Text,
            "comment" => NodeTest::Comment,
            _ => match self.peek().cloned() {
                Some(ExpressionToken::Literal(target)) => {
                    self.at += 1;
                    NodeTest::Instruction(Some(target))
                }
                _ => NodeTest::Instruction(None),
            },
        };
        self.expect(")")?;
        Ok(test)
    }

    fn predicates(&mut self) -> Result<Vec<XPathExpression>, String> {
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.expression()?);
            self.expect("]")?;
        }
        Ok(predicates)
    }

    fn primary(&mut self) -> Result<XPathExpression, String> {
        let token = self.peek().cloned().ok_or("it ends too early")?;
        self.at += 1;
        match token {
            ExpressionToken::Literal(text) => Ok(XPathExpression::Literal(text)),
            ExpressionToken::Number(number) => Ok(XPathExpression::Number(number)),
            ExpressionToken::Symbol("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            ExpressionToken::Function(name) => {
                self.expect("(")?;
                let mut arguments = Vec::new();
                if !self.take(")") {
                    loop {
                        arguments.push(self.expression()?);
                        if !self.take(",") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                super::library::check(&name, arguments.len())?;
                Ok(XPathExpression::Call(name, arguments))
            }
            _ => Err("an expression is missing".to_owned()),
        }
    }
}

fn chained(first: XPathExpression, further: Vec<(Operator, XPathExpression)>) -> XPathExpression {
    if further.is_empty() { first } else { XPathExpression::Chain(Box::new(first), further) }
}

fn descendants() -> LocationStep {
    LocationStep { axis: XPathAxis::DescendantOrSelf, test: NodeTest::AnyNode, predicates: Vec::new() }
}

fn is_node_type(name: &str) -> bool {
    matches!(name, "node" | "text" | "comment" | "processing-instruction")
}
