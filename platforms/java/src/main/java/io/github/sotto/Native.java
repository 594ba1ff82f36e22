package io.github.sotto;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The native methods. Handles belong to objects that {@link Resource} keeps alive. */
final class Native {
    static {
        try {
            load();
        } catch (IOException | UnsatisfiedLinkError failure) {
            Error named = new UnsatisfiedLinkError(failure.getMessage()
                    + "; -Dsotto.library=FILE names the file of the JNI library");
            named.initCause(failure);
            throw named;
        }
    }

    /** Loads the library: the file that the property names, or else a copy of the one in the jar, or else the installed
     * one. */
    private static void load() throws IOException {
        String path = System.getProperty("sotto.library");
        if (path != null) {
            System.load(path);
            return;
        }
        String name = System.mapLibraryName("sotto_jni");
        String system = name.endsWith(".dll") ? "windows" : name.endsWith(".dylib") ? "macos" : "linux";
        String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
        try (InputStream packaged = Native.class.getResourceAsStream("native/" + system + "-" + machine + "/" + name)) {
            if (packaged == null) {
                System.loadLibrary("sotto_jni");
                return;
            }
            File file = File.createTempFile("sotto", name);
            try {
                try (OutputStream output = new FileOutputStream(file)) {
                    packaged.transferTo(output);
                }
                System.load(file.getPath());
            } finally {
                // A loaded library does not need its file any more, but Windows deletes it only at the end.
                if (!file.delete()) file.deleteOnExit();
            }
        }
    }

    private Native() {}

    static byte[] toUtf8(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException failure) {
            throw new IllegalArgumentException("the text has a surrogate without its pair", failure);
        }
    }

    static String fromUtf8(byte[] text) {
        return new String(text, StandardCharsets.UTF_8);
    }

    static SottoException failure(int code, byte[] message, long offset) {
        return new SottoException(code, fromUtf8(message), offset);
    }

    static native int version();
    static native String buildText();
    static native String statusText(int status);
    static native String isaText(int isa);

    static native void defaultsModelParams(ModelParams params);
    static native void defaultsSessionParams(SessionParams params);
    static native void defaultsWatermarkParams(WatermarkParams params);
    static native void defaultsSamplerParams(SamplerParams params);
    static native void presetSamplerParams(SamplerParams params, int preset);
    static native void defaultsStopParams(StopParams params);
    static native void defaultsGuideParams(GuideParams params);
    static native void defaultsSearchParams(SearchParams params);
    static native void defaultsGrammarParams(GrammarParams params);
    static native void defaultsMatcherParams(MatcherParams params);
    static native void defaultsChatParams(ChatParams params);
    static native void defaultsSpeculationParams(SpeculationParams params);

    static native long modelOpen(String path, ModelParams params, Callbacks callbacks);
    static native long modelOfDescriptor(int file, long offset, long size, ModelParams params, Callbacks callbacks);
    static native long modelOfBytes(byte[] bytes, ModelParams params, Callbacks callbacks);
    static native void modelFree(long model);
    static native long modelMemoryBytes(long model);
    static native long modelMemorySize(byte[] bytes, ModelParams params);
    static native void modelInfo(long model, ModelInfo info);
    static native int[] tokenize(long model, byte[] text, boolean special);
    static native byte[] tokenBytes(long model, int token);
    static native int tokenFlags(long model, int token);
    static native byte[] modelText(long model, int kind);
    static native byte[] detokenize(long model, int[] tokens);
    static native long sessionMemorySize(long model, SessionParams params);

    static native long sessionNew(long model, SessionParams params, Callbacks callbacks);
    static native void sessionFree(long session);
    static native void sessionCancel(long session);
    static native void sessionSetSampler(long session, SamplerParams params, boolean hasCallback,
            boolean hasProcessor);
    static native void sessionSetSpeculation(long session, SpeculationParams params, long draft, boolean calls);
    static native void sessionSetGuide(long session, long guide, GuideParams params);
    static native void sessionSetMatcher(long session, long matcher);
    static native int sessionPrefillEmbeddings(long session, float[] embeddings, int count);
    static native Piece sessionNext(long session);

    /** Returns a piece or an exception for each session. */
    static native Object[] sessionsNext(long[] sessions);

    static native float[] sessionScore(long session, int[] tokens, Score score);
    static native Sequence[] sessionSearch(long session, SearchParams params, int[] groups, boolean compares,
            boolean steps);
    static native void sessionFork(long from, long to);

    static native long vocabularyNew(long model, byte[] bytes, int[] offsets, byte[] special, int[] ends);
    static native void vocabularyFree(long vocabulary);
    static native long grammarCompile(byte[] source, GrammarParams params, long vocabulary, Callbacks callbacks);
    static native long grammarLoad(byte[] image);
    static native byte[] grammarSave(long grammar);
    static native void grammarFree(long grammar);
    static native long matcherNew(long grammar, long vocabulary, MatcherParams params);
    static native void matcherFree(long matcher);
    static native long matcherMemoryBytes(long matcher);
    static native long[] matcherMask(long matcher, int sequence, int wordCount);

    static native int[] matcherAllowedTokens(long matcher, int sequence, int wordCount);
    static native int matcherTest(long matcher, int sequence, byte[] text);
    static native byte[] matcherForcedText(long matcher, int sequence, int capacity);

    static native String chatFormatText(int format);
    static native long chatNew(long session, byte[] format, ChatParams params);
    static native void chatFree(long chat);

    static native long samplerNew(long model, int vocabularySize, int listBytes, Callbacks callbacks);
    static native void samplerFree(long sampler);
    static native void samplerSet(long sampler, SamplerParams params, boolean hasCallback, boolean hasProcessor);
    static native int samplerSample(long sampler, float[] logits, long[] allowed, int[] history, long generatedCount,
            long tokenLimit, int sequence);
    static native int[] samplerApply(long sampler, float[] logits, long[] allowed, int[] history, long generatedCount,
            long tokenLimit, int sequence, float[] probabilities);
    static native void watermarkDetect(WatermarkParams params, int vocabularySize, int[] tokens,
            WatermarkResult result);

    // Methods of sotto_session, written by capi/generate from capi/params.

    static native int sessionPrefill(long session, int[] prompt);
    static native void sessionSetLimit(long session, long maxTokens);
    static native int sessionGenerate(long session, int[] prompt, long maxTokens, boolean onPiece);
    static native float[] sessionEmbed(long session, int[] prompt, int pooling, int size);
    static native void sessionSetStops(long session, StopParams params);
    static native void sessionHeal(long session);
    static native void sessionRewind(long session, long tokenCount);
    static native void sessionReset(long session);
    static native void sessionInfo(long session, SessionInfo info);
    static native void sessionTimings(long session, SessionTimings info);
    static native void sessionResetTimings(long session);
    static native float[] sessionLogits(long session);
    static native float[] sessionHidden(long session);
    static native byte[] sessionSave(long session);
    static native void sessionRestore(long session, byte[] state);
    static native void sessionSpeculationInfo(long session, SpeculationInfo info);

    // End of the generated methods.

    // Methods of sotto_chat, written by capi/generate from capi/params.

    static native void chatSetStops(long chat, StopParams params);
    static native void chatAdd(long chat, int role, byte[] text);
    static native void chatReset(long chat);
    static native void chatInfo(long chat, ChatInfo info);
    static native void chatUndo(long chat);
    static native void chatUndoReply(long chat);
    static native int chatReply(long chat, long maxTokens, boolean onPiece);
    static native byte[] chatSave(long chat);
    static native void chatRestore(long chat, byte[] state);

    // End of the generated methods.

    // Methods of sotto_matcher, written by capi/generate from capi/params.

    static native void matcherReset(long matcher, int sequence);
    static native void matcherAcceptToken(long matcher, int sequence, int token);
    static native void matcherAcceptText(long matcher, int sequence, byte[] text);
    static native void matcherRewind(long matcher, long count);
    static native void matcherInfo(long matcher, int sequence, MatcherInfo info);
    static native void matcherFork(long matcher, int source, int target);

    // End of the generated methods.
}
