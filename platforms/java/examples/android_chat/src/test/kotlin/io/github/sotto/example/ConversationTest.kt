package io.github.sotto.example

import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.Paths

/** Returns the number of an open file, which Java does not tell. */
private fun descriptorOf(path: Path): Int =
    Files.newDirectoryStream(Paths.get("/proc/self/fd")).use { files ->
        files.first { Files.isSymbolicLink(it) && Files.readSymbolicLink(it) == path }.fileName.toString().toInt()
    }

/** Tests the app without its screen: a conversation with a model inside another file, as an asset of a package is. */
fun main(arguments: Array<String>) {
    val model = Files.readAllBytes(Paths.get(arguments[0]))
    val path = Files.createTempFile("package", ".apk").toRealPath()
    for (offset in intArrayOf(4096, 100)) {
        Files.write(path, ByteArray(offset) + model + ByteArray(5))
        val conversation = FileChannel.open(path).use {
            Conversation(descriptorOf(path), offset.toLong(), model.size.toLong())
        }
        conversation.use {
            val isMapped = Files.readAllLines(Paths.get("/proc/self/maps")).any { line -> line.endsWith(path.toString()) }
            check(isMapped == (offset % 64 == 0)) { "offset $offset: mapped is $isMapped" }
            val replies = listOf("Hello.", "Go on.").map { message ->
                StringBuilder().also { reply ->
                    it.reply(message) { text ->
                        reply.append(text)
                        false
                    }
                }
            }
            check(replies.all { reply -> reply.isNotBlank() }) { replies }
            var parts = 0
            it.reply("And then?") { _ -> ++parts >= 3 }
            check(parts <= 4) { "$parts parts after a stop" }
        }
    }
    Files.delete(path)
    println("the conversation works")
}
