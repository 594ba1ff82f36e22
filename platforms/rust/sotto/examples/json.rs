//! Streams an object under a JSON Schema: json MODEL PROMPT

use sotto::{Grammar, GrammarLanguage, GrammarParams, JsonSpace, Matcher, Model, Stop, Vocabulary};
use std::io::Write;

const SCHEMA: &str = r#"{
  "type": "object", "required": ["name", "age"], "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 120}}}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (path, prompt) = arguments.next().zip(arguments.next()).ok_or("json MODEL PROMPT")?;
    let model = Model::open(path)?;
    let params = GrammarParams::new(GrammarLanguage::JsonSchema).json_space(JsonSpace::OneSpace);
    let grammar = Grammar::compile(SCHEMA, &params)?;
    let mut session = model.session()?;
    session.set_matcher(Matcher::new(&grammar, &Vocabulary::of_model(&model)?)?)?;
    session.prefill_text(prompt)?;
    let mut stream = session.stream(400);
    for chunk in &mut stream {
        print!("{}", chunk?);
        std::io::stdout().flush()?;
    }
    println!();
    match stream.stop() {
        Some(Stop::Grammar) => Ok(()),
        other => Err(format!("the object is not complete: {other:?}").into()),
    }
}
