//! The declarations against the layout that is kept of the C header, and against its list of exported names.

use sotto_sys::*;
use std::collections::BTreeSet;
use std::mem::{size_of, MaybeUninit};
use std::path::{Path, PathBuf};

fn project_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)
}

fn size_behind<T>(_: *const T) -> usize {
    size_of::<T>()
}

/// Lines as tests/abi/layout_lp64.txt and layout_ilp32.txt have them: the struct, then each of its fields.
macro_rules! lines {
    ($lines:ident; $($name:ident { $($field:ident)* })*) => {$(
        $lines.insert(format!("{} - 0 {}", stringify!($name), size_of::<$name>()));
        $({
            let object = MaybeUninit::<$name>::uninit();
            let base = object.as_ptr();
            let field = unsafe { std::ptr::addr_of!((*base).$field) };
            let offset = field as usize - base as usize;
            $lines.insert(format!("{} {} {} {}", stringify!($name), stringify!($field), offset, size_behind(field)));
        })*
    )*};
}

#[test]
#[cfg(not(target_arch = "x86"))] // where 64-bit integers may lie on 4 bytes
fn structs_lie_as_in_c() {
    let mut lines = BTreeSet::new();
    lines! { lines;
        sotto_error { struct_size status offset message }
        sotto_model_params { struct_size isa verify_checksums copy_weights log log_user_data
            release release_user_data }
        sotto_model_info { struct_size vocabulary_size max_context_tokens layer_count head_count
            embedding_size feed_forward_size end_of_text_token has_tokenizer max_token_bytes isa
            packed_in_place parameter_count weight_bytes vocabulary_bytes
            layer_weight_bits head_weight_bits }
        sotto_token_list { tokens count }
        sotto_text { text size }
        sotto_executor { struct_size reserved num_threads schedule executor_context }
        sotto_session_params { struct_size context_tokens batch_tokens thread_count overflow
            sink_tokens executor sequence_count sequence_tokens features list_bytes draft_tokens
            reserved }
        sotto_session_info { struct_size context_tokens batch_tokens thread_count sink_tokens
            cached_tokens token_count reanchor_count kv_bytes memory_bytes }
        sotto_session_timings { struct_size reserved prefill_tokens prefill_ns decode_tokens
            decode_ns sample_count sample_ns reanchor_tokens reanchor_ns }
        sotto_alternative { token log_probability }
        sotto_piece { text text_size token log_probability sampled_log_probability
            alternative_count alternatives bytes byte_count elapsed_ns }
        sotto_vocabulary_params { struct_size token_count model bytes offsets special end_tokens
            end_token_count }
        sotto_grammar_params { struct_size language root vocabulary triggers trigger_count
            trigger_tokens trigger_token_count json_space maximum_space allow_surrounding_whitespace schema_draft
            assert_formats closed distinct_names parallel_tool_calls log log_user_data }
        sotto_matcher_params { struct_size sequence_count rollback_count node_count frame_count
            config_count item_count work_count mask_bytes reserved step_budget }
        sotto_matcher_info { struct_size may_end must_end reserved token_count }
        sotto_token_bias { token bias }
        sotto_sequence_bias { tokens count bias reserved }
        sotto_watermark_params { struct_size scheme context_width gamma delta tournament_layers
            key }
        sotto_watermark_result { struct_size is_marked token_count score z p_value }
        sotto_sampler_params { struct_size temperature top_k top_p min_p repetition_penalty
            repetition_window log_probabilities seed order min_keep stages stage_count
            frequency_penalty presence_penalty penalize_prompt penalty_slope no_repeat_ngram
            dry_multiplier dry_base dry_allowed_length dry_window guard_window guard_penalty
            reserved0 dry_breakers dry_breaker_count dry_breaker_tokens dry_breaker_token_count
            temperature_range temperature_exponent smoothing_factor smoothing_curve top_p_decay
            top_p_min top_p_reset_token top_a tail_free typical_p epsilon eta top_n_sigma top_h
            xtc_probability xtc_threshold selection mirostat_tau mirostat_eta mirostat_m
            adaptive_target adaptive_decay min_new_tokens ignore_end end_decay_start
            end_decay_factor forced_last_token reserved1 logit_bias logit_bias_count sequence_bias
            sequence_bias_count bad_words bad_word_count allowed_tokens allowed_token_count
            suppressed_tokens suppressed_token_count begin_suppressed_tokens
            begin_suppressed_token_count forced_prefix forced_prefix_count logits_callback
            logits_user_data watermark dola dola_relative_top alternative_count reserved2 }
        sotto_sampler_input { struct_size sequence logits allowed history history_count
            generated_count token_limit }
        sotto_sequence { tokens token_count score log_probability stop index }
        sotto_search_params { struct_size mode sequence_count return_count max_tokens
            length_penalty length_norm early_stopping group_count diversity_penalty rerank
            contrastive_k contrastive_alpha reserved phrases phrase_groups phrase_count similarity
            similarity_user_data on_step step_user_data }
        sotto_stop_params { struct_size include_stop_text max_tokens max_time_ns repetition_limit
            repetition_window stop_tokens stop_token_count stop_strings stop_string_count
            banned_strings banned_string_count }
        sotto_score { struct_size reserved token_count log_probability perplexity }
        sotto_guide_params { struct_size mode scale alpha beta reserved }
        sotto_speculation_params { struct_size sources draft_tokens min_match max_match exit_layer
            draft_threshold reserved draft_session draft user_data }
        sotto_speculation_info { struct_size reserved batch_count proposed_count accepted_count
            forced_proposed_count forced_accepted_count draft_ns }
    }
    let layout =
        if cfg!(target_pointer_width = "64") { "layout_lp64.txt" } else { "layout_ilp32.txt" };
    let kept = std::fs::read_to_string(project_file("tests/abi").join(layout)).unwrap();
    let kept: BTreeSet<String> = kept.lines().map(str::to_string).collect();
    let differing: Vec<&String> = lines.symmetric_difference(&kept).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn every_exported_name_is_declared() {
    let declared = [
        include_str!("../src/grammar.rs"),
        include_str!("../src/runtime.rs"),
        include_str!("../src/sampler.rs"),
        include_str!("../src/search.rs"),
        include_str!("../src/session.rs"),
        include_str!("../src/speculation.rs"),
    ]
    .concat();
    let names = std::fs::read_to_string(project_file("capi/symbols.txt")).unwrap();
    let names: Vec<&str> = names.lines().filter(|line| line.starts_with("sotto_")).collect();
    assert!(names.len() > 60);
    for name in names {
        assert!(declared.contains(&format!("pub fn {name}(")), "{name} is not declared");
    }
}

#[test]
fn every_constant_has_its_value() {
    let header: String = [
        "sotto",
        "sotto_grammar",
        "sotto_sampler",
        "sotto_search",
        "sotto_session",
        "sotto_speculation",
    ]
    .iter()
    .map(|name| std::fs::read_to_string(project_file(&format!("capi/include/{name}.h"))).unwrap())
    .collect();
    let sources = [
        include_str!("../src/grammar.rs"),
        include_str!("../src/runtime.rs"),
        include_str!("../src/sampler.rs"),
        include_str!("../src/search.rs"),
        include_str!("../src/session.rs"),
        include_str!("../src/speculation.rs"),
    ]
    .concat();
    let mut count = 0;
    for line in header.lines() {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == ',').collect();
        for three in words.windows(3) {
            if three[0].starts_with("SOTTO_") && three[1] == "=" && three[2].parse::<i32>().is_ok()
            {
                let value = format!("32 = {};", three[2]);
                let is_declared = sources.lines().any(|line| {
                    line.starts_with(&format!("pub const {}:", three[0])) && line.ends_with(&value)
                });
                assert!(is_declared, "{} = {}", three[0], three[2]);
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn the_library_is_of_this_interface() {
    assert_eq!(unsafe { sotto_version() } >> 16, SOTTO_VERSION >> 16);
}
