//! Streams text: stream MODEL PROMPT

use std::error::Error;
use std::io::Write;

fn stream(path: &str, prompt: &str) -> Result<(), Box<dyn Error>> {
    let model = sotto::Model::open(path)?;
    let mut session = model.session()?;
    for chunk in session.stream(prompt, 100)? {
        write!(std::io::stdout(), "{}", chunk?)?;
        std::io::stdout().flush()?;
    }
    writeln!(std::io::stdout())?;
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: stream MODEL PROMPT");
        std::process::exit(2);
    }
    if let Err(error) = stream(&arguments[1], &arguments[2]) {
        eprintln!("stream: {error}");
        std::process::exit(1);
    }
}
