build-clang/tools/check/bound.o: tools/check/bound.c tools/check/bound.h \
  ref/base/case/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/num/status.h \
  tools/check/bound_op.h tools/check/err.h

tools/check/bound.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/num/status.h:

tools/check/bound_op.h:

tools/check/err.h:
