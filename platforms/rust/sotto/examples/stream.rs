//! Streams text: stream MODEL PROMPT

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (path, prompt) = arguments.next().zip(arguments.next()).ok_or("stream MODEL PROMPT")?;
    let model = sotto::Model::open(path)?;
    let mut session = model.session()?;
    session.prefill_text(prompt)?;
    for chunk in session.stream(100) {
        print!("{}", chunk?);
        std::io::stdout().flush()?;
    }
    println!();
    Ok(())
}
