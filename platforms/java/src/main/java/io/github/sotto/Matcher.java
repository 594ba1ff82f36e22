package io.github.sotto;

import java.util.ArrayList;
import java.util.List;

/** Follows text through a grammar and computes which tokens may come next. */
public final class Matcher extends Owned {
    private final int wordCount;

    public Matcher(Grammar grammar, Vocabulary vocabulary) {
        this(grammar, vocabulary, new MatcherParams());
    }

    /** Creates a matcher. Without a vocabulary (null) it can follow text but not tokens. */
    public Matcher(Grammar grammar, Vocabulary vocabulary, MatcherParams params) {
        super(make(grammar, vocabulary, params));
        wordCount = vocabulary == null ? 0 : (vocabulary.tokenCount + 63) / 64;
    }

    private static Resource make(Grammar grammar, Vocabulary vocabulary, MatcherParams params) {
        List<Resource> needs = new ArrayList<>();
        try {
            long rules = grammar.resource.retain();
            needs.add(grammar.resource);
            long words = 0;
            if (vocabulary != null) {
                words = vocabulary.resource.retain();
                needs.add(vocabulary.resource);
            }
            long made = Native.matcherNew(rules, words, params);
            return new Resource(made, Native::matcherFree, null, needs.toArray(new Resource[0]));
        } catch (RuntimeException | Error failure) {
            needs.forEach(Resource::release);
            throw failure;
        }
    }

    public long memoryBytes() {
        return resource.run(Native::matcherMemoryBytes);
    }

    // Methods of sotto_matcher, written by capi/generate from capi/params.

    /** Makes a sequence empty again. */
    public void reset(int sequence) {
        resource.act(matcher -> Native.matcherReset(matcher, sequence));
    }

    /** Appends a token to a sequence. The mask must allow the token. */
    public void acceptToken(int sequence, int token) {
        resource.act(matcher -> Native.matcherAcceptToken(matcher, sequence, token));
    }

    /** Appends text to a sequence. The text may begin and end inside a token. */
    public void acceptText(int sequence, String text) {
        resource.act(matcher -> Native.matcherAcceptText(matcher, sequence, Native.toUtf8(text)));
    }

    /** Rolls back the newest tokens or texts of sequence 0. */
    public void rewind(long count) {
        resource.act(matcher -> Native.matcherRewind(matcher, count));
    }

    /** Returns the state of a sequence. */
    public MatcherInfo info(int sequence) {
        MatcherInfo info = new MatcherInfo();
        resource.act(matcher -> Native.matcherInfo(matcher, sequence, info));
        return info;
    }

    /** Makes the sequence `target` a copy of `source`. */
    public void fork(int source, int target) {
        resource.act(matcher -> Native.matcherFork(matcher, source, target));
    }

    // End of the generated methods.

    /** Returns the tokens that may come next: bit t % 64 of word t / 64 stands for token t. */
    public long[] mask(int sequence) {
        return resource.run(matcher -> Native.matcherMask(matcher, sequence, wordCount));
    }

    /** Returns the tokens that may come next as a list. */
    public int[] allowedTokens(int sequence) {
        return resource.run(matcher -> Native.matcherAllowedTokens(matcher, sequence, wordCount));
    }

    /** Returns whether the sequence followed by the text can be completed. */
    public boolean begins(int sequence, String text) {
        return (test(sequence, text) & 1) != 0;
    }

    /** Returns whether the sequence followed by the text is complete under the grammar. */
    public boolean matches(int sequence, String text) {
        return (test(sequence, text) & 2) != 0;
    }

    private int test(int sequence, String text) {
        return resource.run(matcher -> Native.matcherTest(matcher, sequence, Native.toUtf8(text)));
    }

    /** Returns the text that must come next, at most capacity bytes of it. */
    public byte[] forcedText(int sequence, int capacity) {
        if (capacity < 0) {
            throw new IllegalArgumentException("capacity is " + capacity + "; it must be at least 0");
        }
        return resource.run(matcher -> Native.matcherForcedText(matcher, sequence, capacity));
    }
}
