package io.github.sotto

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.fold
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** Tests that flows return the text of streams and end with their collectors. */
fun main(arguments: Array<String>) = runBlocking {
    Model.open(arguments[0]).use { model ->
        model.session { contextTokens = 256 }.use { session ->
            session.sampler { temperature = 0f }
            session.stops { maxTokens = 12 }
            val text = session.textFlow("Once upon a time").fold("") { all, part -> all + part }
            check(text.startsWith(", and the time")) { text }
            check(session.info().stop == Status.STOP_MAX_TOKENS)
            session.reset()
            check(session.pieceFlow("Once upon a time", 5).toList().size == 5)
            check(session.textFlow("It was", 9).take(2).toList().size == 2)
        }
        model.session { overflow = Overflow.RING }.use { session ->
            session.sampler { ignoreEnd = true }
            val isRunning = CompletableDeferred<Unit>()
            var parts = 0
            val endless = launch {
                session.textFlow("It was").collect { if (++parts == 20) isRunning.complete(Unit) }
            }
            isRunning.await()
            endless.cancelAndJoin()
            check(session.info().stop == Status.OK)
        }
    }
    println("flows work")
}
