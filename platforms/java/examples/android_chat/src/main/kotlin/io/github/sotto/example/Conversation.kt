package io.github.sotto.example

import io.github.sotto.Chat
import io.github.sotto.ChatFormat
import io.github.sotto.ChatParams
import io.github.sotto.ChatRole
import io.github.sotto.Model
import io.github.sotto.ModelParams
import io.github.sotto.ModelTextKind
import io.github.sotto.SamplerParams
import java.io.Closeable

/**
 * A conversation with a model inside an open file, of which it is [size] bytes from [offset] on. The descriptor may be
 * closed afterwards. Calls block, so one background thread should make them all.
 */
class Conversation(descriptor: Int, offset: Long, size: Long) : Closeable {
    private val model = Model.open(descriptor, offset, size, ModelParams())
    private val session = model.session()
    private val chat: Chat

    init {
        session.setSampler(SamplerParams().apply { temperature = 0.8f; topP = 0.95f; seed = System.nanoTime() })
        val ownFormat = model.text(ModelTextKind.CHAT_FORMAT)
        val format = ownFormat.ifEmpty { Chat.formatText(ChatFormat.PLAIN) }
        chat = session.chat(format, ChatParams().apply { replyTokens = REPLY_TOKENS })
    }

    /** Generates a reply and calls [onText] with its parts, which ends the reply by returning true. */
    fun reply(message: String, onText: (String) -> Boolean) {
        chat.add(ChatRole.USER, message)
        chat.reply(REPLY_TOKENS.toLong()) { piece -> onText(piece.text) }
    }

    override fun close() {
        chat.close()
        session.close()
        model.close()
    }

    private companion object {
        const val REPLY_TOKENS = 100
    }
}
