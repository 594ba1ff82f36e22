//! A conversation in a terminal: chat MODEL. Each line is a message, and the end of the input ends the program.

use sotto::{Chat, ChatFormat, ChatParams, ChatRole, Model, ModelTextKind};
use std::error::Error;
use std::io::{stdin, stdout, BufRead, Write};
use std::ops::ControlFlow;

const REPLY_TOKENS: u32 = 100;

fn print(text: &str) -> std::io::Result<()> {
    write!(stdout(), "{text}")?;
    stdout().flush()
}

fn converse(path: &str) -> Result<(), Box<dyn Error>> {
    let model = Model::open(path)?;
    let own_format = std::str::from_utf8(model.text(ModelTextKind::ChatFormat)?)?;
    let format = if own_format.is_empty() { ChatFormat::Plain.text() } else { own_format };
    let params = ChatParams::default().reply_tokens(REPLY_TOKENS);
    let mut chat = Chat::new(model.session()?, format, &params)?;
    print("> ")?;
    for line in stdin().lock().lines() {
        chat.add(ChatRole::User, &line?)?;
        let mut printed = Ok(());
        chat.reply_with(REPLY_TOKENS as usize, |piece| {
            printed = print(piece.text());
            if printed.is_ok() {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        printed?;
        print("\n> ")?;
    }
    print("\n")?;
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: chat MODEL");
        std::process::exit(2);
    }
    if let Err(error) = converse(&arguments[1]) {
        eprintln!("chat: {error}");
        std::process::exit(1);
    }
}
