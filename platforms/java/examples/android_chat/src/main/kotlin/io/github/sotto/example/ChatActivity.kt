package io.github.sotto.example

import android.app.Activity
import android.os.Bundle
import android.view.View
import android.view.ViewGroup.LayoutParams.MATCH_PARENT
import android.view.ViewGroup.LayoutParams.WRAP_CONTENT
import android.view.inputmethod.EditorInfo
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ScrollView
import android.widget.TextView
import java.util.concurrent.Executors

/** A screen with the conversation, a line for a message, and a button that sends it or stops the reply. */
class ChatActivity : Activity() {
    private val background = Executors.newSingleThreadExecutor()
    private lateinit var texts: TextView
    private lateinit var scroll: ScrollView
    private lateinit var input: EditText
    private lateinit var button: Button

    @Volatile
    private var conversation: Conversation? = null
    private var isReplying = false

    // Only the screen's thread writes it, so that a stop before the reply has begun counts, too.
    @Volatile
    private var isStopped = false

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        showScreen()
        run("Loading the model failed") {
            // The asset is stored uncompressed in the package, so it need not be extracted. It is mapped there if its
            // offset is a multiple of 64, and copied otherwise.
            val file = assets.openFd("demo.sotto")
            try {
                conversation = Conversation(file.parcelFileDescriptor.fd, file.startOffset, file.length)
            } finally {
                file.close()
            }
        }
    }

    private fun showScreen() {
        texts = TextView(this).apply { textSize = 18f }
        scroll = ScrollView(this).apply { addView(texts) }
        input = EditText(this).apply {
            hint = "Message"
            setSingleLine()
            imeOptions = EditorInfo.IME_ACTION_SEND
            setOnEditorActionListener { _, _, _ ->
                send()
                true
            }
        }
        button = Button(this).apply { setOnClickListener { if (isReplying) isStopped = true else send() } }
        val row = LinearLayout(this).apply {
            addView(input, LinearLayout.LayoutParams(0, WRAP_CONTENT, 1f))
            addView(button)
        }
        setContentView(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            fitsSystemWindows = true
            setPadding(24, 24, 24, 24)
            addView(scroll, LinearLayout.LayoutParams(MATCH_PARENT, 0, 1f))
            addView(row)
        })
    }

    private fun send() {
        val message = input.text.toString()
        if (message.isBlank() || isReplying) return
        input.text.clear()
        append("\n$message\n\n")
        isStopped = false
        run("The reply failed") {
            conversation?.reply(message) { text ->
                runOnUiThread { append(text) }
                isStopped
            }
        }
    }

    /** Runs a task in the background, during which the button stops a reply. */
    private fun run(failure: String, task: () -> Unit) {
        setReplying(true)
        background.execute {
            val message = try {
                task()
                "\n"
            } catch (error: Exception) {
                "\n$failure: ${error.message}\n"
            }
            runOnUiThread {
                append(message)
                setReplying(false)
            }
        }
    }

    private fun setReplying(isTrue: Boolean) {
        isReplying = isTrue
        button.text = if (isTrue) "Stop" else "Send"
    }

    private fun append(text: String) {
        texts.append(text)
        scroll.post { scroll.fullScroll(View.FOCUS_DOWN) }
    }

    override fun onDestroy() {
        isStopped = true
        background.execute { conversation?.close() }
        background.shutdown()
        super.onDestroy()
    }
}
