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
 * Returns the pieces that follow a prompt, until a stop or after [maxTokens]. Collecting runs the session in
 * [context]; each collection evaluates the prompt again, after the stream. A cancelled collector ends the text at its
 * next token; [Session.cancel] also ends a long prompt.
 */
fun Session.pieceFlow(
    prompt: String,
    maxTokens: Long = Session.NO_LIMIT,
    context: CoroutineContext = Dispatchers.Default,
): Flow<Piece> = flow {
    for (piece in pieces(prompt, maxTokens)) {
        currentCoroutineContext().ensureActive()
        emit(piece)
    }
}.flowOn(context)

/** Like pieces, but returns text. */
fun Session.textFlow(
    prompt: String,
    maxTokens: Long = Session.NO_LIMIT,
    context: CoroutineContext = Dispatchers.Default,
): Flow<String> = pieceFlow(prompt, maxTokens, context).map { it.text }.filter { it.isNotEmpty() }

/** Creates a session with parameters set in place: `model.session { contextTokens = 256 }`. */
inline fun Model.session(set: SessionParams.() -> Unit): Session = session(SessionParams().apply(set))

/** `session.sampler { temperature = 0.7f }` */
inline fun Session.sampler(set: SamplerParams.() -> Unit) = setSampler(SamplerParams().apply(set))

/** `session.stops { stopStrings = arrayOf("\n") }` */
inline fun Session.stops(set: StopParams.() -> Unit) = setStops(StopParams().apply(set))
