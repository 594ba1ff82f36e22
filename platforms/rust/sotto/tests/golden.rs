//! Golden figures that every binding must reproduce, from tests/golden/data/bindings.txt.

use sotto::*;
use std::collections::HashMap;
use std::ops::ControlFlow;
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

#[test]
fn a_batch_equals_single_sessions() {
    let model = demo();
    let cases = [Case::named("greedy"), Case::named("sampled")];
    let (mut first, mut second, mut empty) = (session(&model), session(&model), session(&model));
    for (session, case) in [&mut first, &mut second].into_iter().zip(&cases) {
        session.set_sampler(&case.sampler()).unwrap();
        session.prefill(case.text("prompt")).unwrap();
        session.set_limit(case.number::<usize>("max_tokens"));
    }
    let mut texts = [String::new(), String::new()];
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        let mut sessions = [&mut first, &mut second, &mut empty];
        let steps = Session::next_of(&mut sessions).unwrap();
        for (text, step) in texts.iter_mut().zip(&steps) {
            match step.as_ref().unwrap() {
                Step::Piece(piece) => text.push_str(piece.text()),
                Step::Stop(_, withheld) => text.push_str(withheld),
            }
            goes_on |= matches!(step, Ok(Step::Piece(_)));
        }
        let failure = steps[2].as_ref().unwrap_err();
        assert_eq!(failure.message(), "the stream is empty: prefill a prompt first");
    }
    for ((session, case), text) in [&first, &second].into_iter().zip(&cases).zip(texts) {
        assert_eq!(text, case.text("text"));
        assert_eq!(number(session.info().stop), case.number::<i32>("status"));
    }
}

fn number(stop: Option<Stop>) -> i32 {
    match stop {
        None => sys::SOTTO_OK,
        Some(Stop::EndOfText) => sys::SOTTO_STOP_END_OF_TEXT,
        Some(Stop::MaxTokens) => sys::SOTTO_STOP_MAX_TOKENS,
        Some(Stop::ContextFull) => sys::SOTTO_STOP_CONTEXT_FULL,
        Some(Stop::Grammar) => sys::SOTTO_STOP_GRAMMAR,
        Some(Stop::Callback) => sys::SOTTO_STOP_CALLBACK,
        Some(Stop::Cancelled) => sys::SOTTO_STOP_CANCELLED,
        Some(Stop::Token) => sys::SOTTO_STOP_TOKEN,
        Some(Stop::String) => sys::SOTTO_STOP_STRING,
        Some(Stop::Time) => sys::SOTTO_STOP_TIME,
        Some(Stop::Repetition) => sys::SOTTO_STOP_REPETITION,
        Some(Stop::Banned) => sys::SOTTO_STOP_BANNED,
        Some(other) => panic!("{other:?}"),
    }
}

fn stops(argument: &str) -> StopParams {
    let params = StopParams::default();
    let (name, value) = argument.split_once(' ').unwrap_or_default();
    match name {
        "" => params,
        "stop_string" => params.stop_strings([value.to_string()]),
        "banned_string" => params.banned_strings([value.to_string()]),
        "stop_token" => params.stop_tokens(tokens_of(value)),
        "max_time_ns" => params.max_time_ns(value.parse().unwrap()),
        "repetition_limit" => params.repetition_limit(value.parse().unwrap()),
        other => panic!("unknown stop: {other}"),
    }
}

/// Makes one call of the case `calls` and returns the text that it generates.
fn execute(session: &mut Session, name: &str, argument: &str) -> Result<String> {
    let mut text = String::new();
    let count = || argument.parse::<usize>().unwrap();
    match name {
        "prefill" => session.prefill(argument)?,
        "next" => text.push_str(match session.next_piece()? {
            Step::Piece(piece) => piece.text(),
            Step::Stop(_, text) => text,
        }),
        "generate" | "callback" => {
            let mut rest = if name == "callback" { count() } else { usize::MAX };
            let limit = if name == "generate" { count() } else { usize::MAX };
            session.generate("", limit, |piece| {
                text.push_str(piece.text());
                rest -= 1;
                if rest == 0 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        }
        "limit" => session.set_limit(count()),
        "stops" => session.set_stops(&stops(argument))?,
        "allow" => session.set_sampler(
            &SamplerParams::default().temperature(0.0).allowed_tokens(tokens_of(argument)),
        )?,
        "grammar" if argument.is_empty() => drop(session.take_matcher()),
        "grammar" => session.set_grammar(&Grammar::regex(argument)?)?,
        "score" => drop(session.score(&session.model().tokenize(argument)?)?),
        "embed" => drop(session.embed(&session.model().tokenize(argument)?, Pooling::Mean)?),
        "rewind" => session.rewind(argument.parse().unwrap())?,
        "restore" => session.restore(&session.save()?)?,
        "cancel" => session.canceller().cancel(),
        "reset" => session.reset(),
        other => panic!("unknown call: {other}"),
    }
    Ok(text)
}

#[test]
fn calls_end_and_continue_texts() {
    let case = Case::named("calls");
    let mut session = session(&demo());
    for (call, expected) in case.all("call").iter().zip(case.all("result")) {
        let (name, argument) = call.split_once(' ').unwrap_or((call, ""));
        let result = match execute(&mut session, name, argument) {
            Ok(text) => format!("{} {text}", number(session.info().stop)),
            Err(error) if error.stop().is_some() => format!("{} ", number(error.stop())),
            Err(error) => {
                assert_eq!(error.status(), Status::InvalidState);
                format!("{} ", sys::SOTTO_INVALID_STATE)
            }
        };
        assert_eq!(result, *expected, "{call}");
    }
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
