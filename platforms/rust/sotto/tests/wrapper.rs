//! Tests of lifetimes, callbacks and panics, and a call of every part of the interface.

use sotto::*;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn demo() -> Model {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../platforms/models/demo.sotto");
    Model::open(std::env::var("SOTTO_DEMO_MODEL").unwrap_or_else(|_| default.into())).unwrap()
}

fn params() -> SessionParams {
    SessionParams::default().context_tokens(128)
}

fn session(model: &Model) -> Session {
    Session::new(model, &params()).unwrap()
}

fn take(session: &mut Session, count: usize) -> Vec<Token> {
    session.stream("", count).unwrap().filter_map(|chunk| chunk.unwrap().token).collect()
}

#[test]
fn objects_keep_what_they_use() {
    let mut session = {
        let model = demo();
        let grammar = Grammar::gbnf("root ::= \"yes, \" [a-z]+").unwrap();
        let mut session = session(&model);
        session.set_grammar(&grammar).unwrap();
        session
    };
    let text: String =
        session.stream("Is it so?", 5).unwrap().map(|chunk| chunk.unwrap().text).collect();
    assert!(text.starts_with("yes, "), "{text}");
    let mut matcher = session.take_matcher().unwrap();
    assert!(matcher.info(0).unwrap().token_count > 0);
    matcher.reset(0).unwrap();
    drop(session);
    assert_eq!(matcher.forced_text(0, 100).unwrap(), b"yes, ");
}

#[test]
fn sessions_move_between_threads_and_are_cancelled_from_others() {
    let model = demo();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let mut session = Session::new(&model, &params().overflow(Overflow::Ring)).unwrap();
            let canceller = session.canceller();
            let (began, begun) = std::sync::mpsc::channel();
            let worker = std::thread::spawn(move || {
                session.set_sampler(&SamplerParams::default().ignore_end(true)).unwrap();
                let mut stream = session.stream("It was", None).unwrap();
                for chunk in &mut stream {
                    chunk.unwrap();
                    let _ = began.send(());
                }
                stream.stop()
            });
            begun.recv().unwrap();
            canceller.cancel();
            (worker, canceller)
        })
        .collect();
    for (worker, canceller) in threads {
        assert_eq!(worker.join().unwrap(), Some(Stop::Cancelled));
        canceller.cancel(); // the session is gone
    }
}

#[test]
fn models_come_from_anywhere() {
    let bytes = std::fs::read(std::env::var("SOTTO_DEMO_MODEL").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/demo.sotto").into()
    }))
    .unwrap();
    let heard = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&heard);
    let params = ModelParams::default()
        .isa(Isa::Reference)
        .copy_weights(true)
        .log(move |_, message| log.lock().unwrap().push_str(message));
    let model = Model::from_bytes(&bytes, &params).unwrap();
    assert_eq!(model.info().isa, Some(Isa::Reference));
    assert!(heard.lock().unwrap().contains("weights copied to memory"));
    assert_eq!(model.info().embedding_size, 256);
    let end = model.info().end_of_text_token.unwrap();
    assert_eq!(model.tokenize_special("<|endoftext|>").unwrap(), [end]);
    assert!(model.token_bytes(-1).is_err());
    let flags = sys::SOTTO_TOKEN_SPECIAL | sys::SOTTO_TOKEN_END_OF_TEXT;
    assert_eq!(model.token_flags(end).unwrap(), flags);
    assert!(!model.text(ModelTextKind::Name).unwrap().is_empty());
    assert!(model.text(ModelTextKind::ChatTemplate).unwrap().is_empty());
}

#[test]
fn misaligned_bytes_are_copied() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/demo.sotto");
    let file = std::fs::read(path).unwrap();
    let tokens = demo().tokenize("Once upon a time").unwrap();
    // An allocation is aligned to at least 2 bytes, so that the file after one byte is not.
    for padding in 0..2 {
        let mut bytes = vec![0u8; padding];
        bytes.extend(&file);
        let bytes: &'static [u8] = bytes.leak();
        let model = Model::from_static(&bytes[padding..], &ModelParams::default()).unwrap();
        assert_eq!(model.tokenize("Once upon a time").unwrap(), tokens);
    }
}

#[test]
fn errors_of_files_name_the_file() {
    let directory = std::env::temp_dir();
    let damaged = directory.join(format!("sotto-damaged-{}", std::process::id()));
    std::fs::write(&damaged, b"no model").unwrap();
    for path in [directory.join("no such file"), directory, damaged.clone()] {
        let message = Model::open(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: ", path.display())), "{message}");
    }
    std::fs::remove_file(damaged).unwrap();
}

#[test]
fn streams_end_at_their_limit_of_tokens() {
    let mut session = session(&demo());
    for (limit, count) in [(0, 0), (2, 2)] {
        let mut stream = session.stream("It was", limit).unwrap();
        assert_eq!((&mut stream).count(), count);
        assert_eq!(stream.stop(), Some(Stop::MaxTokens));
    }
    let mut stream = session.stream("", None).unwrap();
    assert!((&mut stream).count() > 2);
    assert_ne!(stream.stop(), Some(Stop::MaxTokens));
}

#[test]
fn a_limit_counts_from_its_call() {
    let model = demo();
    let (mut whole, mut parts) = (session(&model), session(&model));
    let whole: String =
        whole.stream("It was", 5).unwrap().map(|chunk| chunk.unwrap().text).collect();
    parts.prefill("It was").unwrap();
    let mut text = String::new();
    for limit in [3, 2] {
        parts.set_limit(limit);
        loop {
            match parts.next_piece().unwrap() {
                Step::Piece(piece) => text += piece.text(),
                Step::Stop(stop, rest) => {
                    text += rest;
                    assert_eq!(stop, Stop::MaxTokens);
                    break;
                }
            }
        }
    }
    assert_eq!(text, whole);
}

#[test]
fn withheld_text_is_given_at_the_limit() {
    let mut session = session(&demo());
    let mut text = || -> String {
        let text = session.stream("It was", 4).unwrap().map(|chunk| chunk.unwrap().text).collect();
        session.reset();
        session.set_stops(&StopParams::default().stop_strings([format!("{text}?")])).unwrap();
        text
    };
    assert_eq!(text(), text());
}

#[test]
fn a_second_text_needs_the_grammar_again() {
    let mut session = session(&demo());
    session.set_grammar(&Grammar::gbnf("root ::= \"yes\" | \"no\"").unwrap()).unwrap();
    for _ in 0..2 {
        let text: String =
            session.stream("He said ", None).unwrap().map(|chunk| chunk.unwrap().text).collect();
        assert!(text == "yes" || text == "no", "{text}");
        let error = session.stream("She said ", None).unwrap().next().unwrap().unwrap_err();
        assert!(error.to_string().contains("set the grammar again"), "{error}");
        session.reset();
    }
}

#[test]
fn a_text_is_complete_within_the_tokens_of_its_grammar() {
    let schema =
        r#"{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}"#;
    let mut session = session(&demo());
    session.set_grammar_within(&Grammar::json_schema(schema).unwrap(), 20).unwrap();
    let mut stream = session.stream("A person: ", 20).unwrap();
    let text: String = stream.by_ref().map(|chunk| chunk.unwrap().text).collect();
    assert_eq!(stream.stop(), Some(Stop::Grammar));
    assert!(text.ends_with('}'), "{text}");
}

#[test]
fn a_prompt_that_is_cancelled_ends_its_stream() {
    let mut session = session(&demo());
    session.canceller().cancel();
    let mut stream = session.stream("It was", None).unwrap();
    assert!(stream.next().is_none());
    assert_eq!(stream.stop(), Some(Stop::Cancelled));
}

#[test]
fn generate_passes_pieces_until_a_break() {
    let mut session = session(&demo());
    session.prefill("It was").unwrap();
    let mut count = 0;
    let stop = session.generate("", 10, |piece| {
        count += usize::from(piece.token().is_some());
        if count < 4 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    assert_eq!((stop.unwrap(), count), (Stop::Callback, 4));
}

#[test]
fn panics_pass_the_library() {
    let mut session = session(&demo());
    session.prefill("It was").unwrap();
    let outcome =
        catch_unwind(AssertUnwindSafe(|| session.generate("", 9, |_| panic!("in a callback"))));
    assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "in a callback");
    assert_eq!(take(&mut session, 3).len(), 3);
    session
        .set_sampler(&SamplerParams::default().logits_callback(|_| panic!("over logits")))
        .unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| take(&mut session, 1))).is_err());
    let only_11 = SamplerParams::default().logits_callback(|logits| {
        logits.fill(f32::NEG_INFINITY);
        logits[11] = 0.0;
    });
    session.set_sampler(&only_11).unwrap();
    assert_eq!(take(&mut session, 2), [11, 11]);
    let counting = SamplerParams::default().logits_processor(|tokens, sequence, logits| {
        assert_eq!(sequence, 0);
        logits[*tokens.last().unwrap() as usize + 1] = f32::INFINITY;
    });
    session.set_sampler(&counting).unwrap();
    assert_eq!(take(&mut session, 3), [12, 13, 14]);
    session
        .set_sampler(&SamplerParams::default().logits_processor(|_, _, _| panic!("over tokens")))
        .unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| take(&mut session, 1))).is_err());
}

#[test]
fn streams_are_saved_forked_and_rewound() {
    let model = demo();
    let mut first = session(&model);
    first.prefill("It was a").unwrap();
    take(&mut first, 5);
    let saved = first.save().unwrap();
    let place = first.info().token_count;
    let mut fork = session(&model);
    first.fork_into(&mut fork).unwrap();
    let tokens = take(&mut first, 20);
    assert_eq!(take(&mut fork, 20), tokens);
    let mut restored = session(&model);
    restored.restore(&saved).unwrap();
    assert_eq!(take(&mut restored, 20), tokens);
    first.rewind(place).unwrap();
    assert_eq!(take(&mut first, 20), tokens);
    let mut damaged = saved;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    assert_eq!(restored.restore(&damaged).unwrap_err().status(), Status::StateCorrupt);
    first.reset();
    assert_eq!(
        first.stream("", 1).unwrap().next().unwrap().unwrap_err().status(),
        Status::InvalidState
    );
    assert!(fork.timings().decode_tokens > 0);
    fork.reset_timings();
    assert_eq!(fork.timings().decode_tokens, 0);
    let long = vec![11; 500];
    let error = first.prefill(&long).unwrap_err();
    assert_eq!(error.status(), Status::PromptTooLong);
    assert!(error.to_string().contains("500 tokens do not fit a context of "), "{error}");
    first.reset();
    first.prefill_embeddings(&vec![0.1; model.info().embedding_size]).unwrap();
    let error = first.save().unwrap_err();
    assert_eq!(error.message(), "a stream that begins with embeddings cannot be saved");
}

#[test]
fn conversations_reply_and_undo() {
    let format = ChatFormat::Plain.text();
    let chat_params = ChatParams::default().reply_tokens(16);
    let mut chat = Chat::new(session(&demo()), format, &chat_params).unwrap();
    chat.add(ChatRole::User, "Once upon a time?").unwrap();
    let reply = chat.reply(8).unwrap();
    assert_eq!(chat.info().message_count, 2);
    let state = chat.save().unwrap();
    chat.undo_reply().unwrap();
    let mut again = String::new();
    let collect = |piece: Piece<'_>| {
        again += piece.text();
        ControlFlow::Continue(())
    };
    chat.reply_with(8, collect).unwrap();
    assert_eq!(again, reply);
    chat.undo().unwrap();
    assert_eq!(chat.info().turn_count, 0);
    chat.restore(&state).unwrap();
    assert_eq!(chat.save().unwrap(), state);
    chat.set_stops(&StopParams::default().max_tokens(2)).unwrap();
    chat.add(ChatRole::User, "And then?").unwrap();
    chat.reply(None).unwrap();
    assert_eq!(chat.session().info().stop, Some(Stop::MaxTokens));
    chat.undo_reply().unwrap();
    chat.set_stops(&StopParams::default()).unwrap();
    chat.set_grammar_within(&Grammar::gbnf("root ::= \"yes\"").unwrap(), 8).unwrap();
    assert_eq!(chat.reply(8).unwrap(), "yes");
    chat.remove_grammar();
    chat.add(ChatRole::User, "Why?").unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| chat.reply_with(8, |_| panic!("in a reply"))));
    assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "in a reply");
    let chat_error = |result: Result<()>| result.unwrap_err().status();
    assert_eq!(chat_error(chat.restore(b"no state")), Status::StateCorrupt);
    chat.reset();
    assert_eq!(chat_error(chat.undo()), Status::InvalidState);
    let error = Chat::new(chat.into_session(), "{user}", &chat_params).unwrap_err();
    assert!(error.to_string().contains("no part contains"), "{error}");
}

#[test]
fn scores_and_states() {
    let model = demo();
    let mut session = session(&model);
    let tokens = model.tokenize("It was a dark night").unwrap();
    let score = session.score(&tokens).unwrap();
    assert_eq!(score.token_count as usize, tokens.len() - 1);
    let sum: f64 = score.log_probabilities[1..].iter().map(|&value| f64::from(value)).sum();
    assert!((sum - score.log_probability).abs() < 1e-4);
    assert_eq!(session.logits().unwrap().len(), model.info().vocabulary_size);
    assert_eq!(session.hidden().unwrap().len(), model.info().embedding_size);
    let params =
        SamplerParams::default().alternative_count(3).log_probabilities(true).statistics(true);
    session.set_sampler(&params).unwrap();
    match session.next_piece().unwrap() {
        Step::Piece(piece) => {
            let best = piece.alternatives().next().unwrap();
            assert_eq!(piece.alternatives().count(), 3);
            assert!(best.1 >= piece.log_probability());
            assert_eq!(piece.bytes(), model.token_bytes(piece.token().unwrap()).unwrap());
            assert!((piece.effective_vocabulary() / piece.entropy().exp() - 1.0).abs() < 1e-3);
            assert!(piece.kept_count() >= 1 && piece.repetitiveness() == 0.0);
        }
        Step::Stop(stop, _) => panic!("{stop:?}"),
    }
}

#[test]
fn a_stop_that_leaves_nothing_to_give_is_an_error() {
    let model = demo();
    let mut session = session(&model);
    let long = vec![11; 500];
    assert_eq!(session.score(&long).unwrap_err().status(), Status::PromptTooLong);
    assert_eq!(session.embed(&long, Pooling::Mean).unwrap_err().status(), Status::PromptTooLong);
    session.prefill("It was").unwrap();
    take(&mut session, 1);
    session.canceller().cancel();
    assert_eq!(session.logits().unwrap_err().stop(), Some(Stop::Cancelled));
    assert_eq!(session.logits().unwrap().len(), model.info().vocabulary_size);
    take(&mut session, 1);
    session.canceller().cancel();
    assert_eq!(session.hidden().unwrap_err().stop(), Some(Stop::Cancelled));
    assert_eq!(session.hidden().unwrap().len(), model.info().embedding_size);
}

#[test]
fn the_sampler_takes_lists() {
    let model = demo();
    let mut session = session(&model);
    let the = model.tokenize(" the").unwrap();
    let watermark = WatermarkParams::default().scheme(WatermarkScheme::LeftHash);
    let params = SamplerParams::default()
        .bad_words([the.clone(), model.tokenize(" in the").unwrap()])
        .logit_bias([(11, -5.0)])
        .sequence_bias([(the.clone(), -2.0)])
        .dry_multiplier(0.5)
        .dry_breakers(["\n".to_string(), ".".to_string()])
        .forced_prefix(model.tokenize(" was").unwrap())
        .watermark(watermark.clone());
    session.set_sampler(&params).unwrap();
    session.prefill("The end of all wa").unwrap();
    let tokens = take(&mut session, 60);
    assert_eq!(tokens[0], model.tokenize(" was").unwrap()[0]);
    assert!(!tokens.contains(&the[0]));
    assert!(watermark.detect(model.info().vocabulary_size, &tokens).unwrap().z > 2.0);
    session.prefill("On a dark nig").unwrap();
    session.heal().unwrap();
    assert_eq!(take(&mut session, 1).len(), 1);
}

#[test]
fn speculation_and_guides() {
    let model = demo();
    let mut plain = session(&model);
    plain.prefill("It was a").unwrap();
    let mut fast = Session::new(&model, &params().draft_tokens(4)).unwrap();
    fast.prefill("It was a").unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let speculation = SpeculationParams::default()
        .sources(sys::SOTTO_DRAFT_SESSION | sys::SOTTO_DRAFT_CALLBACK)
        .draft_session(session(&model))
        .draft(move |tokens, _, _| {
            counter.fetch_add(usize::from(!tokens.is_empty()), Ordering::Relaxed);
            0
        });
    fast.set_speculation(speculation).unwrap();
    assert_eq!(take(&mut fast, 30), take(&mut plain, 30));
    assert!(fast.speculation_info().accepted_count > 0);
    assert!(calls.load(Ordering::Relaxed) > 0);
    assert!(fast.clear_speculation().is_some());

    let features = params().features(sys::SOTTO_FEATURE_GUIDE);
    let mut guided = Session::new(&model, &features).unwrap();
    guided.prefill("She was very").unwrap();
    let mut guide = session(&model);
    guide.prefill("He").unwrap();
    assert!(session(&model).set_guide(session(&model), &GuideParams::default()).is_err());
    guided.set_guide(guide, &GuideParams::default().scale(2.0)).unwrap();
    assert_eq!(take(&mut guided, 5).len(), 5);
    assert!(guided.take_guide().unwrap().info().token_count > 5);
}

#[test]
fn searches_call_back() {
    let model = demo();
    let mut session = Session::new(&model, &params().sequence_count(4)).unwrap();
    session.prefill("It was").unwrap();
    let phrases = [model.tokenize(" house").unwrap()];
    let found = session.search(SearchParams::default().max_tokens(12).phrases(phrases)).unwrap();
    for sequence in &found.sequences {
        let text = model.detokenize(&sequence.tokens).unwrap();
        assert!(String::from_utf8_lossy(&text).contains(" house"));
    }
    let mut steps = 0;
    let samples = SearchParams::default()
        .mode(SearchMode::Sample)
        .rerank(Rerank::Callback)
        .max_tokens(6)
        .similarity(|a, b| f64::from(u8::from(a[0] == b[0])))
        .on_step(|_, _| {
            steps += 1;
            ControlFlow::Continue(())
        });
    assert_eq!(session.search(samples).unwrap().sequences.len(), 4);
    assert!(steps > 4);
    let broken = SearchParams::default().max_tokens(6).on_step(|_, _| ControlFlow::Break(()));
    assert_eq!(session.search(broken).unwrap().stop, Some(Stop::Callback));
}

#[test]
fn grammars_without_a_model() {
    let vocabulary = Vocabulary::from_tokens(&["a", "b", "ab", "c", ""], &[], &[4]).unwrap();
    let params = GrammarParams::default().root("start");
    let compiled = Grammar::compile("start ::= \"ab\"+ \"c\"", &params).unwrap();
    let grammar = Grammar::load(&compiled.save()).unwrap();
    let mut matcher = Matcher::new(&grammar, &vocabulary).unwrap();
    assert_eq!(matcher.mask(0).unwrap(), [0b00101]);
    matcher.accept_token(0, 2).unwrap();
    assert_eq!(matcher.mask(0).unwrap(), [0b01101]);
    assert_eq!(matcher.borrow_mask(0).unwrap(), [0b01101]);
    matcher.accept_text(0, "a").unwrap();
    assert_eq!(matcher.forced_text(0, 16).unwrap(), b"b");
    assert_eq!(matcher.test(0, "bc").unwrap(), (true, true));
    assert_eq!(matcher.test(0, "c").unwrap(), (false, false));
    assert!(matcher.accept_token(0, 3).is_err());
    matcher.rewind(1).unwrap();
    matcher.accept_text(0, "c").unwrap();
    assert_eq!(matcher.mask(0).unwrap(), [0b10000]);
    assert!(matcher.info(0).unwrap().must_end);
    assert!(Grammar::load(b"no image").is_err());
    assert!(Grammar::regex("[0-9]+").is_ok() && Grammar::json_schema("{\"type\": 3}").is_err());
}

#[test]
fn the_chain_takes_any_logits() {
    let mut sampler = Sampler::new(3).unwrap();
    sampler.set(&SamplerParams::default().top_k(2).top_p(1.0).min_p(0.0).temperature(1.0)).unwrap();
    let logits = [0.0, 3.0f32.ln(), -1.0];
    let mut input = SamplerInput { logits: &logits, ..SamplerInput::default() };
    let left = sampler.apply(&input).unwrap();
    assert_eq!(left.len(), 2);
    assert!(left[1].0 == 1 && (left[1].1 - 0.75).abs() < 1e-6);
    input.allowed = Some(&[0b100]);
    assert_eq!(sampler.sample(&input).unwrap(), 2);
    input.logits = &logits[..2];
    assert!(sampler.sample(&input).is_err());
    assert!(Sampler::of_model(&demo()).is_ok());
}
