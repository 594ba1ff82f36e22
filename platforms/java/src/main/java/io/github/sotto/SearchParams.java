package io.github.sotto;

/**
 * A search over several continuations. The fields are those of {@code sotto_search_params} in sotto.h, which says
 * what they mean, and begin with its defaults.
 */
public final class SearchParams {
    public SearchMode mode;
    public int sequenceCount;
    public int returnCount;
    public int maxTokens;
    public float lengthPenalty;
    public LengthNorm lengthNorm;
    public EarlyStopping earlyStopping;
    public int groupCount;
    public float diversityPenalty;
    public Rerank rerank;
    public int contrastiveK;
    public float contrastiveAlpha;
    public int[][] phrases;
    public int[] phraseGroups;
    public Callbacks.Similarity similarity;
    public Callbacks.Step onStep;

    public SearchParams() {
        Native.defaultsSearchParams(this);
    }
}
