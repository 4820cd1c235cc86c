build-clang/tools/run.o: tools/run.c ref/base/format/json.h \
  ref/base/num/status.h tools/options.h tools/session.h \
  ref/base/format/tokenizer.h tools/runner.h ref/base/config/profile.h \
  ref/base/config/weights.h ref/base/config/config.h \
  ref/base/format/checkpoint.h ref/base/format/safetensors.h \
  ref/base/num/dtype.h ref/base/format/matrix.h ref/decode/generate.h \
  ref/decode/sample.h ref/base/trace/trace.h tools/tool.h

ref/base/format/json.h:

ref/base/num/status.h:

tools/options.h:

tools/session.h:

ref/base/format/tokenizer.h:

tools/runner.h:

ref/base/config/profile.h:

ref/base/config/weights.h:

ref/base/config/config.h:

ref/base/format/checkpoint.h:

ref/base/format/safetensors.h:

ref/base/num/dtype.h:

ref/base/format/matrix.h:

ref/decode/generate.h:

ref/decode/sample.h:

ref/base/trace/trace.h:

tools/tool.h:
