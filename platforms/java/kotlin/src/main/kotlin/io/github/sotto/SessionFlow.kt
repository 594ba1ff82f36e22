package io.github.sotto

import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.map

/**
 * The pieces that follow a prompt, until a stop, or for [maxTokens] if that is not 0. Collecting runs the session, in
 * [context]; each collection evaluates the prompt anew, behind what is there. A collector that is cancelled ends the
 * text at its next token; [Session.cancel] also ends a long prompt.
 */
fun Session.pieceFlow(
    prompt: String,
    maxTokens: Long = 0,
    context: CoroutineContext = Dispatchers.Default,
): Flow<Piece> = flow {
    for (piece in pieces(prompt, maxTokens)) {
        currentCoroutineContext().ensureActive()
        emit(piece)
    }
}.flowOn(context)

/** The same as texts, as they come. */
fun Session.textFlow(
    prompt: String,
    maxTokens: Long = 0,
    context: CoroutineContext = Dispatchers.Default,
): Flow<String> = pieceFlow(prompt, maxTokens, context).map { it.text }.filter { it.isNotEmpty() }

/** A session with parameters set in place: `model.session { contextTokens = 256 }`. */
inline fun Model.session(set: SessionParams.() -> Unit): Session = session(SessionParams().apply(set))

/** `session.sampler { temperature = 0.7f }` */
inline fun Session.sampler(set: SamplerParams.() -> Unit) = setSampler(SamplerParams().apply(set))

/** `session.stops { stopStrings = arrayOf("\n") }` */
inline fun Session.stops(set: StopParams.() -> Unit) = setStops(StopParams().apply(set))
