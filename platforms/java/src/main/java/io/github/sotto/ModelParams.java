package io.github.sotto;

/**
 * How a model is opened. The fields are those of {@code sotto_model_params} in sotto.h, which says what they mean,
 * and begin with its defaults.
 */
public final class ModelParams {
    public Isa isa;
    public boolean verifyChecksums;
    public boolean copyWeights;
    public Callbacks.Log log;

    public ModelParams() {
        Native.defaultsModelParams(this);
    }
}
