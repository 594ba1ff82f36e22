package io.github.sotto;

/**
 * How the source of a grammar is read. The fields are those of {@code sotto_grammar_params} in sotto.h, which says
 * what they mean, and begin with its defaults.
 */
public final class GrammarParams {
    public GrammarLanguage language;
    public String root;
    public Vocabulary vocabulary;
    public String[] triggers;
    public int[] triggerTokens;
    public JsonSpace jsonSpace;
    public int maximumSpace;
    public boolean allowSurroundingWhitespace;
    public int schemaDraft;
    public boolean assertFormats;
    public boolean closed;
    public boolean distinctNames;
    public boolean parallelToolCalls;
    public Callbacks.Log log;

    public GrammarParams() {
        Native.defaultsGrammarParams(this);
    }
}
