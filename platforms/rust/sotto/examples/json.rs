//! Streams a JSON object that satisfies a schema: json MODEL PROMPT

use sotto::{Grammar, Model, Stop};
use std::error::Error;
use std::io::Write;
use std::process::exit;

const SCHEMA: &str = r#"{
  "type": "object", "required": ["name", "age"], "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "maxLength": 20},
    "age": {"type": "integer", "minimum": 0, "maximum": 120}}}"#;

/// Returns why the text ended.
fn stream(path: &str, prompt: &str) -> Result<Option<Stop>, Box<dyn Error>> {
    let model = Model::open(path)?;
    let mut session = model.session()?;
    session.set_grammar(&Grammar::json_schema(SCHEMA)?)?;
    let mut stream = session.stream(prompt, 400)?;
    for chunk in &mut stream {
        write!(std::io::stdout(), "{}", chunk?)?;
        std::io::stdout().flush()?;
    }
    writeln!(std::io::stdout())?;
    Ok(stream.stop())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: json MODEL PROMPT");
        exit(2);
    }
    match stream(&arguments[1], &arguments[2]) {
        Ok(Some(Stop::Grammar)) => {}
        Ok(stop) => {
            eprintln!("json: the object is not complete: {stop:?}");
            exit(3);
        }
        Err(error) => {
            eprintln!("json: {error}");
            exit(1);
        }
    }
}
