//! Golden figures that every binding must reproduce, from tests/golden/data/bindings.txt.

use sotto::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn file(variable: &str, path: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::env::var_os(variable).map_or_else(|| root.join(path), PathBuf::from)
}

fn model_file() -> PathBuf {
    file("SOTTO_DEMO_MODEL", "platforms/models/demo.sotto")
}

fn demo() -> Model {
    Model::open(model_file()).unwrap()
}

struct Case(HashMap<String, Vec<String>>);

impl Case {
    fn named(name: &str) -> Case {
        let path = file("SOTTO_GOLDEN", "tests/golden/data/bindings.txt");
        let text = std::fs::read_to_string(path).unwrap();
        let mut values: HashMap<String, Vec<String>> = HashMap::new();
        let lines = text.lines().skip_while(|line| *line != format!("case {name}")).skip(1);
        for line in lines.take_while(|line| !line.is_empty()) {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            values.entry(key.to_string()).or_default().push(value.to_string());
        }
        assert!(!values.is_empty(), "no case {name}");
        Case(values)
    }

    fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], |values| values)
    }

    fn text(&self, key: &str) -> String {
        let escaped = self.all(key).first().unwrap_or_else(|| panic!("no {key}"));
        escaped.replace("\\\\", "\0").replace("\\n", "\n").replace('\0', "\\")
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> T {
        self.text(key).parse().unwrap_or_else(|_| panic!("{key}"))
    }

    fn tokens(&self, key: &str) -> Vec<Token> {
        tokens_of(&self.text(key))
    }

    fn sampler(&self) -> SamplerParams {
        if self.all("seed").is_empty() {
            return SamplerParams::default();
        }
        SamplerParams::default()
            .temperature(self.number("temperature"))
            .top_k(self.number("top_k"))
            .top_p(self.number("top_p"))
            .repetition_penalty(self.number("repetition_penalty"))
            .seed(self.number("seed"))
    }
}

fn tokens_of(list: &str) -> Vec<Token> {
    list.split_whitespace().map(|token| token.parse().unwrap()).collect()
}

fn session(model: &Model) -> Session {
    Session::new(model, &SessionParams::default().context_tokens(256)).unwrap()
}

fn expect_stream(session: &mut Session, case: &Case) {
    session.set_sampler(&case.sampler()).unwrap();
    let limit: usize = case.number("max_tokens");
    let mut stream = session.stream(case.text("prompt"), limit).unwrap();
    let (mut text, mut tokens) = (String::new(), Vec::new());
    for chunk in &mut stream {
        let chunk = chunk.unwrap();
        text.push_str(&chunk.text);
        tokens.extend(chunk.token);
    }
    let stop = match case.number("status") {
        sys::SOTTO_STOP_MAX_TOKENS => Stop::MaxTokens,
        sys::SOTTO_STOP_GRAMMAR => Stop::Grammar,
        sys::SOTTO_STOP_STRING => Stop::String,
        other => panic!("status {other}"),
    };
    assert_eq!(text, case.text("text"));
    assert_eq!(tokens, case.tokens("tokens"));
    assert_eq!(stream.stop(), Some(stop));
}

fn expect_error<T: std::fmt::Debug>(case: &Case, result: Result<T>) {
    let error = result.unwrap_err();
    let status = match case.number("status") {
        sys::SOTTO_INVALID_ARGUMENT => Status::InvalidArgument,
        sys::SOTTO_GRAMMAR_SYNTAX => Status::GrammarSyntax,
        sys::SOTTO_TEXT_INVALID => Status::TextInvalid,
        sys::SOTTO_MODEL_CORRUPT => Status::ModelCorrupt,
        other => panic!("status {other}"),
    };
    assert_eq!(error.status(), status);
    assert_eq!(error.message(), case.text("message"));
    let offset = error.offset().map_or("none".to_string(), |offset| offset.to_string());
    assert_eq!(offset, case.text("offset"));
}

#[test]
fn tokenizes() {
    let case = Case::named("tokenize");
    let model = demo();
    let tokens = model.tokenize(case.text("text")).unwrap();
    assert_eq!(tokens, case.tokens("tokens"));
    assert_eq!(model.detokenize(&tokens).unwrap(), case.text("text").into_bytes());
    let bytes: Vec<u8> =
        tokens.iter().flat_map(|&token| model.token_bytes(token).unwrap().to_vec()).collect();
    assert_eq!(bytes, case.text("text").into_bytes());
}

#[test]
fn streams() {
    let model = demo();
    for name in ["greedy", "sampled", "example"] {
        expect_stream(&mut session(&model), &Case::named(name));
    }
}

#[test]
fn stops_at_a_string() {
    let case = Case::named("stop");
    let mut session = session(&demo());
    session.set_stops(&StopParams::default().stop_strings([case.text("stop_string")])).unwrap();
    expect_stream(&mut session, &case);
}

#[test]
fn keeps_to_a_grammar() {
    let case = Case::named("grammar");
    assert_eq!(case.number::<i32>("language"), GrammarLanguage::JsonSchema as i32);
    assert_eq!(case.number::<i32>("json_space"), JsonSpace::OneSpace as i32);
    let params = GrammarParams::new(GrammarLanguage::JsonSchema).json_space(JsonSpace::OneSpace);
    let model = demo();
    let grammar = Grammar::compile(&case.text("source"), &params).unwrap();
    let mut session = session(&model);
    session.set_grammar(&grammar).unwrap();
    expect_stream(&mut session, &case);
}

#[test]
fn searches() {
    let case = Case::named("search");
    let params = SessionParams::default().context_tokens(256);
    let params = params.sequence_count(case.number("sequence_count"));
    let mut session = Session::new(&demo(), &params).unwrap();
    session.prefill(case.text("prompt")).unwrap();
    let params = SearchParams::default().max_tokens(case.number("max_tokens"));
    let found = session.search(params).unwrap();
    let tokens: Vec<Vec<Token>> =
        found.sequences.into_iter().map(|sequence| sequence.tokens).collect();
    let expected: Vec<Vec<Token>> =
        case.all("sequence").iter().map(|line| tokens_of(line)).collect();
    assert_eq!(tokens, expected);
    assert_eq!(found.stop, None);
}

#[test]
fn embeds() {
    let case = Case::named("embedding");
    assert_eq!(case.number::<i32>("pooling"), Pooling::Mean as i32);
    let model = demo();
    let tokens = model.tokenize(case.text("prompt")).unwrap();
    let embedding = session(&model).embed(&tokens, Pooling::Mean).unwrap();
    assert_eq!(embedding.len(), case.number::<usize>("size"));
    for (value, bits) in embedding.iter().zip(case.text("first_bits").split(' ')) {
        assert_eq!(format!("{:08x}", value.to_bits()), bits);
    }
}

#[test]
fn tells_what_is_wrong() {
    let model = demo();
    let case = Case::named("bad_grammar");
    expect_error(&case, Grammar::gbnf(&case.text("source")));
    let case = Case::named("bad_text");
    let text: Vec<u8> =
        case.text("bytes").split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    expect_error(&case, model.tokenize(text));
    let case = Case::named("bad_parameter");
    let params = SamplerParams::default().temperature(case.number("temperature"));
    expect_error(&case, session(&model).set_sampler(&params));
    let case = Case::named("bad_model");
    let bytes = std::fs::read(model_file()).unwrap();
    let kept = &bytes[..case.number("kept_bytes")];
    expect_error(&case, Model::from_bytes(kept, &ModelParams::default()));
}
